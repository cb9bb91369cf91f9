// Package launch starts plugins: what of their file is checked before, what they see of the environment, and how their process is held. Two programs start plugins,
// and alike: ptobuild the first one at the same moment as ptobuild-plugin-host, which would otherwise have to be there first, and that program all others.
package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/plugins"
)

// The handshake of hashicorp/go-plugin. The cookie only tells a user who starts a plugin by hand that this is not how; it never changes.
const (
	CookieKey       = "PTOBUILD_PLUGIN"
	CookieValue     = "8d1f6a1c1f0c4a64a2f4c1a8a0d4f0b7"
	ProtocolVersion = 1
)

// Command is the command of a plugin that keeps its socket and its temporary files in a folder. Its standard input is empty. It is in a process group of its own,
// out of the reach of Ctrl-C, and ends with its parent.
func Command(c *plugins.Config, folder string, handshake []string) *exec.Cmd {
	cmd := exec.Command(c.Path)
	// A plugin sees no more of the environment than it needs, so that it cannot come to depend on it.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + folder}, handshake...)
	cmd.SysProcAttr = sysProcAttr()
	return cmd
}

// Handshake is what go-plugin puts into the environment of a plugin that is to listen in a folder, for a start without it. The ports are for systems without sockets
// in folders.
func Handshake(folder string) []string {
	return []string{CookieKey + "=" + CookieValue, "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", fmt.Sprint("PLUGIN_PROTOCOL_VERSIONS=", ProtocolVersion),
		"PLUGIN_UNIX_SOCKET_DIR=" + folder}
}

// Start starts a command within an amount of memory, in bytes.
func Start(cmd *exec.Cmd, memory int64) error {
	return onStarter()(func() error {
		err := cmd.Start()
		if err == nil {
			limitMemory(cmd.Process.Pid, memory)
		}
		return err
	})
}

// onStarter runs f on the thread that starts plugins, which never ends: the kernel kills a plugin when the thread that started it ends, not the process
// (PR_SET_PDEATHSIG).
var onStarter = sync.OnceValue(func() func(f func() error) error {
	work, done := make(chan func() error), make(chan error)
	go func() {
		runtime.LockOSThread()
		for f := range work {
			done <- f()
		}
	}()
	var mu sync.Mutex
	return func(f func() error) error {
		mu.Lock()
		defer mu.Unlock()
		work <- f
		return <-done
	}
})

// Kill ends a plugin and what it started; one that is gone already is fine.
func Kill(p *os.Process) error {
	if err := kill(p); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// CheckFile looks at the executable before it is started.
func CheckFile(c *plugins.Config) *diag.Diagnostic {
	fail := func(why, hint string) *diag.Diagnostic {
		return diag.Errorf(plugins.CodeStart, diag.Span{}, "plugin %s cannot be started: %s %s", c.Name, c.Path, why).WithHint("%s", hint)
	}
	f, err := os.Open(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("does not exist", "build or install it, or correct path in [plugins."+c.Name+"]")
	case err != nil:
		return fail("cannot be read: "+reason(err), "check its permissions")
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		return fail("is a folder", "give the executable that its build command makes")
	}
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return fail("is not an executable file", "chmod +x it, or correct path in [plugins."+c.Name+"]")
	}
	return nil
}

// CheckDigest reads the executable, when its digest is configured: 15 ms for 20 MB.
func CheckDigest(c *plugins.Config) *diag.Diagnostic {
	if c.SHA256 == "" {
		return nil
	}
	f, err := os.Open(c.Path)
	if err != nil {
		return diag.Errorf(plugins.CodeStart, diag.Span{}, "plugin %s cannot be started: %s cannot be read: %s", c.Name, c.Path, reason(err))
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return diag.Errorf(plugins.CodeStart, diag.Span{}, "plugin %s cannot be started: %s cannot be read: %s", c.Name, c.Path, reason(err))
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, c.SHA256) {
		return c.WrongFile(got)
	}
	return nil
}

func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
