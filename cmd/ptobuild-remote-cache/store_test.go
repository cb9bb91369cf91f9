package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ptobuild/ptobuild/cache"
	"github.com/ptobuild/ptobuild/cache/remote"
	"github.com/ptobuild/ptobuild/internal/diag"
	"github.com/ptobuild/ptobuild/internal/reapiserver"
)

var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ptobuild-remote-test-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", "./cmd/ptobuild", "./cmd/ptobuild-orchestration-host", "./cmd/ptobuild-remote-cache")
	build.Dir = "../.."
	if b, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, b)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		_ = os.RemoveAll(dir) // in the folder for temporary files
	}
	os.Exit(code)
}

// bin is the folder of the programs under test.
func bin(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// open opens a store with a remote; warned gives the warnings so far.
func open(t *testing.T, helper string, c remote.Config) (s *remote.Store, warned func() []*diag.Diagnostic) {
	t.Helper()
	d, err := cache.NewDisk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve(func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var ds []*diag.Diagnostic
	s = remote.Open(d, helper, "group", []*remote.Remote{r}, func(d *diag.Diagnostic) {
		mu.Lock()
		defer mu.Unlock()
		ds = append(ds, d)
	})
	t.Cleanup(func() { s.Close(0) })
	return s, func() []*diag.Diagnostic {
		mu.Lock()
		defer mu.Unlock()
		return ds
	}
}

func record(t *testing.T, s cache.Store, name string) cache.Digest {
	t.Helper()
	d, err := s.Put(context.Background(), []byte(name))
	if err != nil {
		t.Fatal(err)
	}
	key := cache.NewKey(name).Sum()
	if err := s.PutAction(context.Background(), key, &cache.ActionResult{Outputs: []cache.OutputFile{{Path: "out", Digest: d}}}); err != nil {
		t.Fatal(err)
	}
	return key
}

func start(t *testing.T) *reapiserver.Server {
	t.Helper()
	s, err := reapiserver.Start(reapiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Storing does not wait for uploads, however slow the server is, and closing waits no longer than it is told.
func TestUploadsHoldNothingUp(t *testing.T) {
	server := start(t)
	server.SetFaults(reapiserver.Faults{Delay: time.Hour})
	s, warned := open(t, filepath.Join(bin(t), remote.HelperName), remote.Config{URL: server.URL(), Timeout: "1h"})
	for i := range 500 {
		record(t, s, fmt.Sprint("action ", i))
	}
	begin := time.Now()
	s.Close(200 * time.Millisecond)
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("closing took %s", took)
	}
	if w := warned(); len(w) != 1 || w[0].Code != cache.CodeUpload || !strings.Contains(w[0].Message, "not everything could be uploaded within 200ms") {
		t.Errorf("%v", w)
	}
}

// Leaving does not wait, and everything is uploaded all the same.
func TestLeave(t *testing.T) {
	server := start(t)
	program, pid := tracked(t)
	s, warned := open(t, program, remote.Config{URL: server.URL(), Timeout: "1m"})
	for i := range 50 {
		record(t, s, fmt.Sprint("action ", i))
	}
	s.Leave()
	waitFor(t, "the uploads", func() bool { return server.Actions() == 51 }) // and the index
	helper := pid()
	waitFor(t, "the end of the helper", func() bool { return ended(helper) })
	if w := warned(); len(w) > 0 {
		t.Errorf("%v", w)
	}
}

// ended reports whether a process is gone; whoever inherited it may leave it a zombie.
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// tracked makes a program that is the helper and leaves its process id in a file.
func tracked(t *testing.T) (program string, pid func() int) {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "helper"), filepath.Join(dir, "pid")
	script := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexec %s\n", file, filepath.Join(bin(t), remote.HelperName))
	if err := os.WriteFile(program, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return program, func() (pid int) {
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = fmt.Sscan(string(b), &pid)
		}
		if err != nil {
			t.Error(err)
		}
		return pid
	}
}

func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("waited in vain: %s", what)
			return
		}
	}
}

// A helper that dies while it is asked costs one warning, and is not started again.
func TestKilledHelper(t *testing.T) {
	server := start(t)
	server.SetFaults(reapiserver.Faults{Delay: time.Hour})
	program, pid := tracked(t)
	s, warned := open(t, program, remote.Config{URL: server.URL(), Timeout: "1h"})
	go func() {
		waitFor(t, "a call", func() bool { return len(server.Calls()) > 0 })
		if err := syscall.Kill(pid(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	for i := range 5 {
		if _, err := s.GetAction(context.Background(), cache.NewKey(fmt.Sprint(i)).Sum()); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
	record(t, s, "more")
	s.Close(time.Minute)
	if w := warned(); len(w) != 1 || w[0].Code != cache.CodeHelper || !strings.Contains(w[0].Message, "ended unexpectedly") {
		t.Errorf("%v", w)
	}
}

// When ptobuild is killed while a server keeps it waiting, its helper ends too.
func TestKilledTool(t *testing.T) {
	server := start(t)
	server.SetFaults(reapiserver.Faults{Delay: time.Hour})
	program, pid := tracked(t)
	ws := workspace(t, server)
	cmd := exec.Command(filepath.Join(bin(t), "ptobuild"), "test", "--no-compile", "-C", ws)
	cmd.Env = append(os.Environ(), "PTOBUILD_CACHE="+t.TempDir(), remote.HelperEnv+"="+program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a call", func() bool { return len(server.Calls()) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // was killed
	helper := pid()
	waitFor(t, "the end of the helper", func() bool { return ended(helper) })
}

// A watch shares what it makes while it runs.
func TestWatch(t *testing.T) {
	server := start(t)
	ws := workspace(t, server)
	cmd := exec.Command(filepath.Join(bin(t), "ptobuild"), "watch", "--no-compile", "-C", ws)
	cmd.Env = append(os.Environ(), "PTOBUILD_CACHE="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// shared reports whether another machine finds the verdict.
	shared := func() bool {
		b := exec.Command(filepath.Join(bin(t), "ptobuild"), "test", "--no-compile", "-C", ws, "--remote-cache-mode", "read")
		b.Env = append(os.Environ(), "PTOBUILD_CACHE="+t.TempDir())
		out, err := b.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return strings.Contains(string(out), "cached")
	}
	waitFor(t, "the first verdict", shared)
	edited := strings.Replace(hello, "pl.load(a, [0, 0], [16, 16])", "pl.add(pl.load(a, [0, 0], [16, 16]), 1.0)", 1)
	if err := os.WriteFile(filepath.Join(ws, "hello.py"), []byte(edited), 0o666); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the verdict after the edit", shared)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // 130
}

// workspace makes a workspace with one test and a remote cache.
func workspace(t *testing.T, server *reapiserver.Server) string {
	t.Helper()
	ws := t.TempDir()
	for name, text := range map[string]string{
		"Pto.toml": "[[cache.remote]]\nurl = \"" + server.URL() + "\"\ntimeout = \"1h\"\n[[test]]\ntarget = \"//hello:main\"\n",
		"hello.py": hello,
	} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

const hello = `import pypto.language as pl

@pl.jit.incore
def k(a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    o = pl.store(pl.load(a, [0, 0], [16, 16]), [0, 0], o)
    return o

@pl.jit
def main(a: pl.Tensor[[16, 16], pl.FP32], o: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    o = k(a, o)
    return o
`
