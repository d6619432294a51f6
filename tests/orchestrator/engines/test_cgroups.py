"""Control groups are found in every layout that machines have."""

from __future__ import annotations

from pathlib import Path

from dlbench.engines import cgroups
from dlbench.engines.base import Limits
from dlbench.engines.control_group import ControlGroup, create

# As on a present-day Debian: version 2 alone.
V2_MOUNTS = """\
24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
"""
# As on CentOS 7: version 1, some controllers mounted together.
V1_MOUNTS = """\
26 17 0:21 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:8 - tmpfs tmpfs ro,mode=755
27 26 0:22 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,xattr,name=systemd
29 26 0:24 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:11 - cgroup cgroup rw,cpuacct,cpu
30 26 0:25 / /sys/fs/cgroup/memory rw,relatime shared:12 - cgroup cgroup rw,memory
31 26 0:26 / /sys/fs/cgroup/pids rw,relatime shared:13 - cgroup cgroup rw,pids
"""
# As on Ubuntu 20.04: version 1 with an empty version 2 beside it.
HYBRID_MOUNTS = V1_MOUNTS + (
    "28 26 0:23 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
)
DOCKER_ID = "4aa3e8a4dbf5e630701f943b552211c680d061af38aa3e8a4dbf5e630701f943"


def test_version2_with_the_systemd_driver() -> None:
    found = cgroups.locate(f"0::/system.slice/docker-{DOCKER_ID}.scope\n", V2_MOUNTS)
    folder = Path(f"/sys/fs/cgroup/system.slice/docker-{DOCKER_ID}.scope")
    assert cgroups.choose(found) == {"unified": folder}
    assert cgroups.counted(cgroups.choose(found)) == {"unified": folder}


def test_version2_root_and_user_session() -> None:
    assert cgroups.locate("0::/\n", V2_MOUNTS) == {"unified": Path("/sys/fs/cgroup")}
    session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a\\x2db.scope\n"
    assert cgroups.locate(session, V2_MOUNTS)["unified"].name == "app-a\\x2db.scope"


def test_version1_with_controllers_mounted_together() -> None:
    text = f"11:pids:/docker/{DOCKER_ID}\n5:memory:/docker/{DOCKER_ID}\n" + (
        f"3:cpuacct,cpu:/docker/{DOCKER_ID}\n1:name=systemd:/docker/{DOCKER_ID}\n"
    )
    chosen = cgroups.choose(cgroups.locate(text, V1_MOUNTS))
    base = Path("/sys/fs/cgroup")
    assert cgroups.counted(chosen) == {
        "cpuacct": base / "cpu,cpuacct/docker" / DOCKER_ID,
        "memory": base / "memory/docker" / DOCKER_ID,
        "pids": base / "pids/docker" / DOCKER_ID,
    }
    assert chosen["cpu"] == chosen["cpuacct"]


def test_version1_wins_where_both_are_mounted() -> None:
    text = "5:memory:/a\n4:pids:/a\n3:cpu,cpuacct:/a\n0::/a\n"
    assert set(cgroups.choose(cgroups.locate(text, HYBRID_MOUNTS))) == {
        "cpu",
        "cpuacct",
        "memory",
        "pids",
    }


def test_inside_a_container_without_a_namespace() -> None:
    """The mount shows the container's own group as its top."""
    mounts = (
        f"40 35 0:25 /docker/{DOCKER_ID} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        f"41 35 0:24 /docker/{DOCKER_ID} /sys/fs/cgroup/cpuacct ro - cgroup cgroup rw,cpuacct\n"
    )
    text = f"5:memory:/docker/{DOCKER_ID}/inner\n3:cpuacct:/docker/{DOCKER_ID}\n"
    assert cgroups.choose(cgroups.locate(text, mounts)) == {
        "memory": Path("/sys/fs/cgroup/memory/inner"),
        "cpuacct": Path("/sys/fs/cgroup/cpuacct"),
    }
    assert cgroups.locate("5:memory:/docker/another\n", mounts) == {}


def test_outside_our_namespace_is_not_visible() -> None:
    assert cgroups.locate(f"0::/../docker-{DOCKER_ID}.scope\n", V2_MOUNTS) == {}


def test_mount_points_with_spaces_and_names_with_colons() -> None:
    mounts = "35 24 0:30 / /mnt/my\\040groups rw - cgroup2 none rw\n"
    found = cgroups.locate("0::/a:b\n", mounts)
    assert found == {"unified": Path("/mnt/my groups/a:b")}


def test_names_of_campaigns_do_not_overlap() -> None:
    assert not cgroups.group_name("a-b", "t").startswith(cgroups.prefix("a"))
    assert "/" not in cgroups.group_name("../../etc", "x/y")


def test_own_groups_on_this_machine_exist() -> None:
    chosen = cgroups.choose(cgroups.of_process())
    assert all((folder / "cgroup.procs").exists() for folder in chosen.values())
    assert cgroups.of_process(2**22 + 1) == {}


def fake_unified(folder: Path, controllers: str) -> Path:
    """A version 2 group as files: what this kernel offers only where version 1 does not have it."""
    folder.mkdir(parents=True)
    (folder / "cgroup.controllers").write_text(controllers)
    for name in ("cgroup.procs", "cgroup.subtree_control"):
        (folder / name).write_text("")
    return folder


def test_version2_limits_and_counters(tmp_path: Path) -> None:
    folder = fake_unified(tmp_path / "group", "cpu memory pids")
    for name in ("memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "pids.max"):
        (folder / name).write_text("max")
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\n")
    group = ControlGroup({"unified": folder})
    group.limit(Limits(cpus=1.5, memory_bytes=1 << 30, pids=99))
    assert (folder / "memory.max").read_text() == str(1 << 30)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "memory.oom.group").read_text() == "1"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert (folder / "pids.max").read_text() == "99"
    group.enter(1234)
    assert (folder / "cgroup.procs").read_text() == "1234"
    assert cgroups.oom_kills(group.folders) == 2


def test_version2_without_a_memory_controller_makes_nothing(tmp_path: Path) -> None:
    top = fake_unified(tmp_path / "top", "hugetlb")
    own = fake_unified(top / "session.scope", "hugetlb")
    assert create("dlbench@c@t", {"unified": own}) is None
    assert not list(tmp_path.rglob("dlbench@*"))


def test_version2_asks_the_folder_for_its_controllers(tmp_path: Path) -> None:
    own = fake_unified(tmp_path / "delegated", "cpuset cpu io memory pids")
    # A folder of plain files grows no control files, so none counts as a group.
    assert create("dlbench@c@t", {"unified": own}) is None
    assert (own / "cgroup.subtree_control").read_text() == "+memory +cpu +pids"
