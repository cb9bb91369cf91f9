package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/ir"
	"github.com/ptobuild/ptobuild/ops"
	"github.com/ptobuild/ptobuild/passes"
	"github.com/ptobuild/ptobuild/plugins"
	"github.com/ptobuild/ptobuild/plugins/client"
)

// A helper that is killed takes its plugins with it: the one that was launched with it, and those that it started.
func TestNoOrphans(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		c := open(t, acme())
		load(t, c)
		if restarted {
			kill(t, running(t, filepath.Join(bin, "acme"))[0])
			load(t, c)
		}
		plugin, helper := running(t, filepath.Join(bin, "acme")), running(t, filepath.Join(bin, client.HelperName))
		if len(plugin) != 1 || len(helper) != 1 {
			t.Fatalf("plugins %v, helpers %v run", plugin, helper)
		}
		kill(t, helper[0])
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ends(t, plugin[0])
	}
}

// A helper that is killed is started again, once.
func TestKilledHelper(t *testing.T) {
	c := open(t, acme())
	load(t, c)
	for again := range 2 {
		kill(t, running(t, filepath.Join(bin, client.HelperName))[0])
		got := c.Load()
		if ds := got.Reports(); ds.HasErrors() != (again == 1) {
			t.Errorf("after %d restarts: %v", again, ds)
		} else if again == 1 && !strings.Contains(ds.Error(), "ended unexpectedly, and again after a restart") {
			t.Error(ds)
		}
	}
}

// ends waits for the end of a process.
func ends(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if state(pid) == "" || state(pid) == "Z" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// A command that is killed leaves nothing behind: neither the plugin that it launched itself, nor one that the helper started, nor the helper.
func TestKilledCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	temp, err := os.MkdirTemp("", "t-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	cmd.Env = append(os.Environ(), "COMMAND_WITH_PLUGIN="+bin, "TMPDIR="+temp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	shared, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	started := children(t, cmd.Process.Pid)
	for _, p := range started {
		started = append(started, children(t, p)...)
	}
	if len(started) != 3 {
		t.Errorf("processes %v run", started)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for _, p := range started {
		ends(t, p)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
	if _, err := os.Stat(filepath.Dir(shared)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left behind (%v)", shared, err)
	}
}

// command uses two plugins, says where it shares files with them, and goes on with a call that takes its time.
func command(bin string) {
	c := client.New(context.Background(), filepath.Join(bin, client.HelperName), []plugins.Config{{Name: "acme", Path: filepath.Join(bin, "acme")}, {Name: "other", Path: filepath.Join(bin, "acme"), AnyName: true}}, "")
	for _, name := range []string{"acme", "other"} {
		if _, err := c.Ask(&plugins.Request{Plugin: name}); err != nil {
			panic(err)
		}
	}
	shared, err := c.SharedFile()
	if err != nil {
		panic(err)
	}
	loaded := c.Load()
	i := slices.IndexFunc(loaded.Passes, func(p plugins.Pass) bool { return p.Name == "acme.Hang" })
	c.Slow = func(string) { fmt.Println(shared) }
	_, _ = loaded.Passes[i].Run(&passes.Context{Ops: ops.Builtin()}, &ir.Program{Name: "p"})
}

// A plugin sees the same, whoever starts it: the first one is launched together with the helper, the second one is started by it.
func TestSameEnvironment(t *testing.T) {
	dir := t.TempDir()
	var configs []plugins.Config
	for _, name := range []string{"first", "second"} {
		path := filepath.Join(dir, name)
		script := fmt.Sprintf("#!/bin/sh\nwhile [ $(ulimit -d) = unlimited ]; do :; done # it is set right after the start\nexport -p >%[1]s.env; ls -l /proc/self/fd | wc -l >>%[1]s.env; ulimit -d >>%[1]s.env\n", path)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		configs = append(configs, plugins.Config{Name: name, Path: path, Memory: 1 << 30})
	}
	open(t, configs...).Load() // both end before they are ready
	var seen [2][]string
	for i, c := range configs {
		b, err := os.ReadFile(c.Path + ".env")
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(b)) {
			if key, folder, ok := strings.Cut(l, "="); ok && strings.Contains(folder, plugins.FolderPattern) {
				l = key
			}
			seen[i] = append(seen[i], strings.TrimSpace(l))
		}
	}
	if !slices.Equal(seen[0], seen[1]) || !slices.Contains(seen[0], fmt.Sprint(1<<20)) {
		t.Errorf("launched:\n%s\nstarted by the helper:\n%s", strings.Join(seen[0], "\n"), strings.Join(seen[1], "\n"))
	}
}

// All calls that wait for a helper when it ends are asked again: the first that notices says that it ended once, not twice.
func TestManyWaitForKilledHelper(t *testing.T) {
	c := open(t, acme())
	load(t, c)
	helper := running(t, filepath.Join(bin, client.HelperName))[0]
	signal(t, helper, syscall.SIGSTOP)
	before := c.Requests()
	const calls = 100
	failed := make(chan error, calls)
	for range calls {
		go func() {
			_, err := c.Ask(&plugins.Request{Plugin: "acme"})
			failed <- err
		}()
	}
	for c.Requests() < before+calls {
		runtime.Gosched()
	}
	kill(t, helper)
	for range calls {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

// A command that is interrupted ends though its helper reads nothing.
func TestCancelStoppedHelper(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client.New(ctx, filepath.Join(bin, client.HelperName), []plugins.Config{acme()}, "")
	load(t, c)
	helper := running(t, filepath.Join(bin, client.HelperName))[0]
	signal(t, helper, syscall.SIGSTOP)
	before := c.Requests()
	failed := make(chan error)
	for range 2 {
		go func() {
			_, err := c.Ask(&plugins.Request{Plugin: "acme", Infer: &plugins.InferRequest{Calls: make([]byte, 1<<20)}}) // more than a pipe holds
			failed <- err
		}()
	}
	for c.Requests() < before+2 {
		runtime.Gosched()
	}
	cancel()
	for range 2 {
		if err := <-failed; err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
			t.Error(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	ends(t, helper)
}

// Where the path of the folder for temporary files is longer than that of a socket may be, plugins are started all the same.
func TestLongTemp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	load(t, open(t, acme()))
}

// A plugin that ended is not waited for because what it started goes on and holds its output open: neither one that was launched, nor one that the helper started.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	holds := filepath.Join(dir, "holds")
	if err := os.WriteFile(holds, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var configs []plugins.Config
	for _, name := range []string{"first", "second"} {
		path := filepath.Join(dir, name)
		script := fmt.Sprintf("#!/bin/sh\nsetsid sh -c 'while [ -e %s ]; do sleep 0.1; done' &\necho told >&2\nexit 3\n", holds)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		configs = append(configs, plugins.Config{Name: name, Path: path})
	}
	failed := open(t, configs...).Load().Failed
	if err := os.Remove(holds); err != nil {
		t.Error(err)
	}
	for _, c := range configs {
		if text := failed[c.Name].Error(); !strings.Contains(text, "ended before it was ready (exit status 3)") || !strings.Contains(text, "told") {
			t.Error(text)
		}
	}
}
