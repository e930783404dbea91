"""Every system call of the kernel's tables is judged, on all machines, and has the kernel's number."""

from __future__ import annotations

import os
import stat
from functools import cache

import pytest

from inference.agent import sandbox as agent_sandbox
from inference.agent.counters import DISABLE, ENABLE
from inference.sandbox import call_filter, confined_calls, system_calls
from inference.sandbox.system_calls import FIRST_UNREVIEWED, MACHINES, number_of, numbers_of
from tests.sandbox.filters import HEADERS, kernel_calls, verdict

NEWEST_LANDLOCK = 7
OWN = 4711

needs_headers = pytest.mark.skipif(
    not all(header.is_file() for header in HEADERS.values()), reason="the kernel's headers are not installed"
)
machines = pytest.mark.parametrize("machine", MACHINES)

CHANGING = (
    *("chmod", "chown", "xattr", "utime", "futimes", "link", "rename", "truncate", "mknod", "mkdir", "rmdir"),
    *("file_setattr", "fallocate"),
)
"""Parts of the names of calls that change files."""

BOUNDED_BY_LANDLOCK = (
    "rename renameat renameat2 unlink unlinkat rmdir link linkat symlink symlinkat mkdir mkdirat truncate"
)
READ_ONLY = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr readlink readlinkat"

PASSING = {
    "needs a file that was opened for it, which Landlock bounds": (
        "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 sendfile splice tee "
        "vmsplice copy_file_range ftruncate fsync fdatasync sync_file_range sync_file_range2 fadvise64 "
        "readahead lseek getdents getdents64 close close_range dup dup2 dup3 pipe pipe2 fstat fstatfs "
        "fchdir flock mmap msync remap_file_pages io_submit io_cancel io_destroy io_getevents "
        "io_pgetevents mq_getsetattr mq_notify mq_timedreceive mq_timedsend inotify_rm_watch cachestat"
    ),
    "makes, moves or removes by path, which Landlock bounds": f"{BOUNDED_BY_LANDLOCK} creat mknod mknodat",
    "tells about a path, and opens nothing": (
        f"{READ_ONLY} access faccessat faccessat2 stat lstat newfstatat statx statfs getcwd chdir "
        "ustat sysfs statmount listmount"
    ),
    "writes back what was written": "sync syncfs",
    "opens, under Landlock, without making a program with a set-user-ID bit": "open openat",
    "starts what is confined in the same way": "clone fork vfork execve execveat uselib",
    "is a matter of the process alone": (
        "alarm arch_prctl brk capget capset exit exit_group fcntl ioctl futex futex_waitv get_mempolicy "
        "get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getitimer getpgid "
        "getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid "
        "ioprio_get landlock_add_rule landlock_create_ruleset landlock_restrict_self madvise mbind "
        "membarrier mincore mlock mlock2 mlockall modify_ldt mprotect mremap munlock munlockall munmap "
        "pause personality pkey_alloc pkey_free pkey_mprotect prctl restart_syscall rseq rt_sigaction "
        "rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max "
        "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
        "sched_rr_get_interval sched_yield seccomp set_mempolicy set_mempolicy_home_node set_robust_list "
        "set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setregid "
        "setresgid setresuid setreuid setrlimit setsid setuid shmdt sigaltstack umask wait4 waitid "
        "migrate_pages move_pages prlimit64 sched_setaffinity sched_setattr sched_setparam "
        "sched_setscheduler map_shadow_stack futex_wake futex_wait futex_requeue lsm_get_self_attr "
        "lsm_set_self_attr lsm_list_modules mseal uretprobe uprobe"
    ),
    "is bounded by Landlock's scope": "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo",
    "waits, or tells the time": (
        "clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_ctl_old "
        "epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 getrandom gettimeofday "
        "nanosleep poll ppoll pselect6 select signalfd signalfd4 sysinfo time timer_create timer_delete "
        "timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime "
        "times uname"
    ),
    "needs a socket, and there is none but in pairs": (
        "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg "
        "sendmmsg sendmsg sendto setsockopt shutdown socketpair"
    ),
    "is in no kernel any more": (
        "_sysctl afs_syscall get_kernel_syms getpmsg nfsservctl putpmsg query_module security tuxcall vserver"
    ),
}
"""Calls that pass on a kernel with Landlock, by the reason why they may."""


@cache
def answers(machine: str, landlock: int = NEWEST_LANDLOCK) -> dict[str, int]:
    """What the filter for strangers answers to every call of the kernel's table, all arguments being zero."""
    program = confined_calls.filter_program(machine, OWN, landlock, mounts=False)
    return {name: verdict(program, machine, number) for name, number in kernel_calls(machine).items()}


@needs_headers
@machines
def test_the_table_has_the_numbers_of_the_kernel(machine):
    numbers = kernel_calls(machine)
    newest = max(numbers.values())
    table = {name: number_of(name, machine) for name in system_calls._NUMBERS}
    assert {name: number for name, number in table.items() if number is None or number <= newest} == {
        name: numbers.get(name) for name, number in table.items() if number is None or number <= newest
    }


@needs_headers
@machines
def test_every_call_of_the_kernel_is_refused_or_passes_for_a_reason(machine):
    passing = {name for name, answer in answers(machine).items() if answer == call_filter.ALLOW}
    reasons = " ".join(PASSING.values()).split()
    assert len(reasons) == len(set(reasons))
    in_other_ways = {"ioctl", "fcntl", "socketpair"}  # all arguments zero is no request that passes for all
    assert passing - in_other_ways <= set(reasons), "a call that nobody has judged"
    assert passing | in_other_ways >= set(reasons) & kernel_calls(machine).keys()


@needs_headers
@machines
def test_calls_that_change_files_are_refused_or_bounded_by_landlock(machine):
    changing = {name for name in kernel_calls(machine) if any(part in name for part in CHANGING)}
    changing -= set(READ_ONLY.split())
    changing |= {"creat"} & kernel_calls(machine).keys()
    assert len(changing) > 20
    passing = {name for name in changing if answers(machine)[name] == call_filter.ALLOW}
    assert passing <= {*BOUNDED_BY_LANDLOCK.split(), "ftruncate", "creat", "mknod", "mknodat"}
    without = {name for name in changing if answers(machine, landlock=0)[name] == call_filter.ALLOW}
    assert without == {"ftruncate"}


@needs_headers
def test_the_same_calls_are_refused_on_all_machines():
    x86, *others = map(answers, MACHINES)
    for other in others:
        assert {name: x86[name] for name in x86.keys() & other.keys()} == {
            name: other[name] for name in x86.keys() & other.keys()
        }


def test_calls_of_one_machine_exist_there_alone():
    own = system_calls._RISCV
    assert [number_of(name, machine) for machine in MACHINES for name in own] == [None] * 4 + [258, 259]
    program = agent_sandbox.filter_program("riscv64")
    assert verdict(program, "riscv64", own["riscv_flush_icache"]) == call_filter.ALLOW
    assert verdict(program, "riscv64", own["riscv_hwprobe"]) == call_filter.KILL


@machines
def test_what_is_newer_than_the_table_does_not_exist(machine):
    program = confined_calls.filter_program(machine, OWN, NEWEST_LANDLOCK, mounts=False)
    file_setattr = 469
    for number in (FIRST_UNREVIEWED, file_setattr, 1000, 0x40000000, 0xFFFFFFFF):
        assert verdict(program, machine, number) == call_filter.UNKNOWN
    assert verdict(program, machine, FIRST_UNREVIEWED - 1) == call_filter.ALLOW


@machines
@pytest.mark.parametrize("landlock", [0, 1, 2, 3, NEWEST_LANDLOCK])
def test_files_are_not_truncated_where_landlock_does_not_see_it(machine, landlock):
    program = confined_calls.filter_program(machine, OWN, landlock, mounts=False)
    refused = landlock < 3
    assert (verdict(program, machine, number_of("truncate", machine) or 0) == call_filter.REFUSE) == refused
    for name, flags in (("open", 1), ("openat", 2)):
        if (number := number_of(name, machine)) is None:
            continue

        def opened(options: int, number: int = number, flags: int = flags) -> int:
            return verdict(program, machine, number, *[0] * flags, options, 0o644)

        assert (opened(os.O_RDONLY | os.O_TRUNC) == call_filter.REFUSE) == refused
        for usual in (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
            assert opened(usual) == call_filter.ALLOW


@machines
@pytest.mark.parametrize("bit", [stat.S_ISUID, stat.S_ISGID])
def test_no_file_is_made_with_a_set_id_bit(machine, bit):
    program = confined_calls.filter_program(machine, OWN, NEWEST_LANDLOCK, mounts=False)
    makes = os.O_CREAT | os.O_WRONLY
    ways = {
        "open": (0, makes),
        "openat": (0, 0, makes),
        "creat": (0,),
        "mknod": (0,),
        "mknodat": (0, 0),
    }
    for name, before in ways.items():
        for number in numbers_of([name], machine):
            assert verdict(program, machine, number, *before, 0o755) == call_filter.ALLOW
            assert verdict(program, machine, number, *before, 0o755 | bit) == call_filter.REFUSE
    for number in numbers_of(["openat"], machine):
        assert verdict(program, machine, number, 0, 0, os.O_TMPFILE | os.O_RDWR, bit) == call_filter.REFUSE


@machines
def test_descriptors_take_no_leases_locks_watches_or_flags_by_surprise(machine):
    program = confined_calls.filter_program(machine, OWN, NEWEST_LANDLOCK, mounts=False)
    without_landlock = confined_calls.filter_program(machine, OWN, 0, mounts=False)
    fcntl, ioctl, flock = (number_of(name, machine) or 0 for name in ("fcntl", "ioctl", "flock"))
    set_owner, set_signal, lease, notify, pipe_size, seals = 8, 10, 1024, 1026, 1031, 1033
    for command in (set_owner, set_signal, 15, lease, notify, pipe_size, seals):
        assert verdict(program, machine, fcntl, 3, command) == call_filter.REFUSE
    for command in (0, 1, 2, 3, 4, 1030):
        assert verdict(program, machine, fcntl, 3, command) == call_filter.ALLOW
    for command in (6, 7, 37, 38):
        assert verdict(program, machine, fcntl, 3, command) == call_filter.ALLOW
        assert verdict(without_landlock, machine, fcntl, 3, command) == call_filter.REFUSE
    assert verdict(without_landlock, machine, flock, 3, 2) == call_filter.REFUSE
    set_flags, set_attributes, clone_file, send_signals_to, push_input = (
        *(0x40086602, 0x401C5820, 0x40049409, 0x8901, 0x5412),
    )
    for request in (set_flags, set_attributes, clone_file, send_signals_to, push_input):
        assert verdict(program, machine, ioctl, 3, request) == call_filter.NO_TERMINAL
    for request in (0x5401, 0x541B, 0x5451):
        assert verdict(program, machine, ioctl, 3, request) == call_filter.ALLOW


@machines
def test_the_agent_measures_with_these_calls_and_no_others(machine):
    program = agent_sandbox.filter_program(machine)
    kill = call_filter.KILL
    measuring, harmless = agent_sandbox.MEASURING.split(), agent_sandbox.HARMLESS.split()
    expected = dict.fromkeys(numbers_of(measuring, machine), call_filter.ALLOW)
    expected |= dict.fromkeys(numbers_of(harmless, machine), call_filter.REFUSE)
    ioctl = number_of("ioctl", machine) or 0
    expected[ioctl] = call_filter.REFUSE
    for number in (*range(600), 0x40000001):
        assert verdict(program, machine, number) == expected.get(number, kill), number
    for request in (ENABLE, DISABLE):
        assert verdict(program, machine, ioctl, 3, request) == call_filter.ALLOW
