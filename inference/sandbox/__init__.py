"""What a Linux process can give up for good: rights, system calls, files, the network, other processes.

Only the standard library is used: the agent packs these files, and `starter` runs as a bare script.
"""
