package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// keys reads single keys from the terminal, or from standard input with --json. restore gives the terminal back as it was.
func (a *app) keys() (keys <-chan byte, restore func()) {
	restore = func() {}
	fd := int(os.Stdin.Fd())
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	switch {
	case err == nil:
		raw := *old
		raw.Lflag &^= unix.ICANON | unix.ECHO // keys come at once; interrupts and output stay as they are
		raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
		if unix.IoctlSetTermios(fd, unix.TCSETS, &raw) == nil {
			restore = func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, old) } // nothing more can be done
		}
	case !a.ui.JSON:
		return nil, restore
	}
	c := make(chan byte)
	go func() {
		b := make([]byte, 1)
		for {
			if n, err := os.Stdin.Read(b); err != nil || n == 0 {
				return
			}
			c <- b[0]
		}
	}()
	return c, restore
}
