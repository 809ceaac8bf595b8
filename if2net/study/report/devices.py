"""What ran where: seconds of one device say nothing about those of another."""

from __future__ import annotations

from if2net.study.report.gather import Section

MOST_NAMES = 3  # of the largest group; where it has more, they are "the others"


def several_devices(section: Section) -> str:
    """One sentence that says which methods ran on which device; nothing where all ran on the same one."""
    groups: dict[str, list[str]] = {}
    for series in section.series:
        groups.setdefault(" and ".join(sorted(series.devices)), []).append(series.name)
    if len({device for series in section.series for device in series.devices}) < 2:
        return ""
    *few, most = sorted(groups, key=lambda devices: len(groups[devices]))
    named = {devices: " and ".join(groups[devices]) for devices in (*few, most)}
    if few and len(groups[most]) > MOST_NAMES:
        named[most] = "the others"
    said = ", ".join(f"{names} ran on {devices}" for devices, names in named.items())
    return f"Seconds of different devices cannot be compared: {said}."
