"""The registry of compared methods. Each is one file in this folder; parts that several share are in `common`.

The order is that of the paper's table, then the analytic methods, then IF2Net.
"""

from if2net.study.methods.acil import ACIL
from if2net.study.methods.ari import ARI
from if2net.study.methods.bic import BiC
from if2net.study.methods.common.method import Costs, Method
from if2net.study.methods.eft import EFT
from if2net.study.methods.ewc import EWC
from if2net.study.methods.fecam import FeCAM
from if2net.study.methods.fs_dgpm import FSDGPM
from if2net.study.methods.gem import GEM
from if2net.study.methods.if2net import IF2NetElastic, IF2NetGradient, IF2NetMethod
from if2net.study.methods.il2m import IL2M
from if2net.study.methods.joint import Joint
from if2net.study.methods.logd import LOGD
from if2net.study.methods.mas import MAS
from if2net.study.methods.ncm import NearestClassMean
from if2net.study.methods.nn_rw import BroadLearning
from if2net.study.methods.none import NoDefence
from if2net.study.methods.online_ewc import OnlineEWC
from if2net.study.methods.owm import OWM
from if2net.study.methods.pcl import PCL
from if2net.study.methods.ranpac import RanPAC
from if2net.study.methods.rps_net import RPSNet
from if2net.study.methods.si import SI
from if2net.study.methods.slda import StreamingLDA

BASELINES = (NoDefence, Joint, BroadLearning)
COMPARED = (EWC, MAS, OnlineEWC, SI, EFT, OWM, GEM, FSDGPM, BiC, ARI, PCL, RPSNet, LOGD, IL2M)
ANALYTIC = (NearestClassMean, StreamingLDA, FeCAM, RanPAC, ACIL)
OURS = (IF2NetMethod, IF2NetGradient, IF2NetElastic)

METHODS: dict[str, type[Method]] = {method.name: method for method in (*BASELINES, *COMPARED, *ANALYTIC, *OURS)}

__all__ = ["METHODS", "Costs", "Method"]
