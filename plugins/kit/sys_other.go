//go:build !unix

package kit

import "os"

var stop func(*os.Process) error

func isRunning(int) bool { return false }
