package state

import "syscall"

const sysFstatat = syscall.SYS_NEWFSTATAT
