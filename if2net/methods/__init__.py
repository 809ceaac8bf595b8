"""The compared methods by name, in the order of the paper's table; then the analytic peers; then ours."""

from if2net.methods.acil import ACIL
from if2net.methods.ari import ARI
from if2net.methods.base import Costs, Method
from if2net.methods.bic import BiC
from if2net.methods.eft import EFT
from if2net.methods.ewc import EWC
from if2net.methods.fecam import FeCAM
from if2net.methods.fs_dgpm import FSDGPM
from if2net.methods.gem import GEM
from if2net.methods.if2net import IF2NetElastic, IF2NetGradient, IF2NetMethod
from if2net.methods.il2m import IL2M
from if2net.methods.joint import Joint
from if2net.methods.logd import LOGD
from if2net.methods.mas import MAS
from if2net.methods.ncm import NearestClassMean
from if2net.methods.nn_rw import BroadLearning
from if2net.methods.none import NoDefence
from if2net.methods.online_ewc import OnlineEWC
from if2net.methods.owm import OWM
from if2net.methods.pcl import PCL
from if2net.methods.ranpac import RanPAC
from if2net.methods.rps_net import RPSNet
from if2net.methods.si import SI
from if2net.methods.slda import StreamingLDA

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        NoDefence,
        Joint,
        BroadLearning,
        EWC,
        MAS,
        OnlineEWC,
        SI,
        EFT,
        OWM,
        GEM,
        FSDGPM,
        BiC,
        ARI,
        PCL,
        RPSNet,
        LOGD,
        IL2M,
        NearestClassMean,
        StreamingLDA,
        FeCAM,
        RanPAC,
        ACIL,
        IF2NetMethod,
        IF2NetGradient,
        IF2NetElastic,
    )
}

__all__ = ["METHODS", "Costs", "Method"]
