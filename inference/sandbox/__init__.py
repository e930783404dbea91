"""What a process of Linux can give up for good: rights, system calls, files, the network, other processes.

The standard library is enough here: the agent packs these files, and `starter` runs as a bare script.
"""
