package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func put(t *testing.T, s Store, b []byte) Digest {
	t.Helper()
	d, err := s.Put(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// record stores an action with one output of n bytes and returns its key and output.
func record(t *testing.T, s Store, name string, n int) (key, out Digest) {
	t.Helper()
	key = NewKey(name).Sum()
	out = put(t, s, bytes.Repeat([]byte(name), n/len(name)))
	if err := s.PutAction(context.Background(), key, &ActionResult{Outputs: []OutputFile{{Path: "out", Digest: out}}}); err != nil {
		t.Fatal(err)
	}
	return key, out
}

func age(t *testing.T, p string, d time.Duration) {
	t.Helper()
	at := time.Now().Add(-d)
	if err := os.Chtimes(p, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	var keys []Digest
	for i := range 10 {
		key, out := record(t, s, fmt.Sprintf("action%d", i), 10000)
		age(t, blobPath(dir, acDir, key), time.Duration(20-i)*time.Hour)
		age(t, blobPath(dir, casDir, out), time.Duration(20-i)*time.Hour)
		keys = append(keys, key)
	}
	if r, err := s.GetAction(ctx, keys[0]); err != nil { // the oldest is used once more
		t.Fatal(err)
	} else if _, err := s.Get(ctx, r.Outputs[0].Digest); err != nil {
		t.Fatal(err)
	}
	st, err := s.Stats()
	if err != nil || st.Blobs != 10 || st.Actions != 10 || st.Bytes() < 100000 || st.Temporary != 0 {
		t.Fatalf("%+v, %v", st, err)
	}
	if gone, err := s.Collect(ctx, st.Bytes(), time.Now()); err != nil || gone.Entries != 0 {
		t.Errorf("at the limit nothing has to go: %+v, %v", gone, err)
	}
	gone, err := s.Collect(ctx, st.Bytes()/2, time.Now())
	if err != nil || gone.Entries == 0 {
		t.Fatalf("%+v, %v", gone, err)
	}
	for i, key := range keys {
		_, err := s.GetAction(ctx, key)
		if kept := i == 0 || i >= 7; kept != (err == nil) && i != 6 { // about half of the limit's worth stays
			t.Errorf("action %d: %v", i, err)
		}
	}
	after, err := s.Stats()
	if err != nil || after.Bytes() > st.Bytes()/2 || after.Collected.IsZero() {
		t.Errorf("afterwards: %+v, %v", after, err)
	}
}

func TestAutomaticCollection(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	began := time.Now()
	old, oldOut := record(t, s, "old", 10000)
	age(t, blobPath(dir, acDir, old), 48*time.Hour)
	age(t, blobPath(dir, casDir, oldOut), 48*time.Hour)
	fresh, _ := record(t, s, "fresh", 10000)
	left := filepath.Join(dir, tmpDir, "put-left")
	if err := os.WriteFile(left, []byte("half"), 0o666); err != nil {
		t.Fatal(err)
	}
	age(t, left, 2*time.Hour)

	if err := s.CollectIfDue(ctx, 1, began); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetAction(ctx, old); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old entry: %v", err)
	}
	if _, err := s.GetAction(ctx, fresh); err != nil {
		t.Errorf("the limit is too small for this build's entries, which must stay all the same: %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file of a killed process: %v", err)
	}
	// Not again within the hour, unless the clock was set back.
	record(t, s, "older", 10000)
	age(t, blobPath(dir, acDir, NewKey("older").Sum()), 48*time.Hour)
	if err := s.CollectIfDue(ctx, 1, began); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetAction(ctx, NewKey("older").Sum()); err != nil {
		t.Errorf("collected twice within the hour: %v", err)
	}
}

func TestVerifyMendsTheStore(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	_, flipped := record(t, s, "flipped", 7000)
	lost, lostOut := record(t, s, "lost", 4000)
	cut, _ := record(t, s, "cut", 3000)
	whole, _ := record(t, s, "whole", 5000)
	b, err := os.ReadFile(blobPath(dir, casDir, flipped))
	if err != nil {
		t.Fatal(err)
	}
	b[5000] ^= 1
	if err := os.WriteFile(blobPath(dir, casDir, flipped), b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(blobPath(dir, casDir, lostOut)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(blobPath(dir, acDir, cut), 40); err != nil {
		t.Fatal(err)
	}
	v, err := s.Verify(ctx)
	if err != nil || v.Blobs != 4-1 || v.Actions != 4 || v.Damaged.Entries != 2 || v.Dangling.Entries != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.GetAction(ctx, whole); err != nil {
		t.Errorf("the whole one: %v", err)
	}
	if _, err := s.GetAction(ctx, lost); err == nil {
		t.Error("a result without its blob is a hit")
	}
	if v, err := s.Verify(ctx); err != nil || v.Damaged.Entries != 0 || v.Dangling.Entries != 0 {
		t.Errorf("once more: %+v, %v", v, err)
	}
}

// A result proves itself: cut short at any byte, changed at any byte, or moved to another key, it is no result.
func TestDamagedResultIsNoHit(t *testing.T) {
	s, dir := open(t)
	ctx := context.Background()
	key, _ := record(t, s, "x", 10)
	p := blobPath(dir, acDir, key)
	whole, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := s.GetAction(ctx, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range whole {
		check(fmt.Sprint("cut to ", n), whole[:n])
		changed := bytes.Clone(whole)
		changed[n] ^= 0x40
		check(fmt.Sprint("changed at ", n), changed)
	}
	other := NewKey("y").Sum()
	if err := os.MkdirAll(filepath.Dir(blobPath(dir, acDir, other)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobPath(dir, acDir, other), whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetAction(ctx, other); !errors.Is(err, ErrNotFound) {
		t.Errorf("under another key: %v", err)
	}
}

func TestCleanLeavesTheRestOfTheFolder(t *testing.T) {
	s, dir := open(t)
	key, _ := record(t, s, "x", 10)
	mine := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(mine, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Clean()
	if err != nil || gone.Entries != 2 {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	// A process that had it open goes on.
	if _, err := s.GetAction(context.Background(), key); !errors.Is(err, ErrNotFound) {
		t.Errorf("cleaned, but %v", err)
	}
	record(t, s, "x", 10)
	if _, err := s.GetAction(context.Background(), key); err != nil {
		t.Error(err)
	}
}

// A full disk is said once; reading goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	var warnings []error
	s, err := NewDisk(dir, func(err error) { warnings = append(warnings, err) })
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	key, _ := record(t, s, "before", 1000)
	tries := 0
	s.createTemp = func(dir, _ string) (*os.File, error) {
		tries++
		link := filepath.Join(dir, fmt.Sprint("full", tries))
		if err := os.Symlink("/dev/full", link); err != nil {
			return nil, err
		}
		return os.OpenFile(link, os.O_WRONLY, 0)
	}
	for range 5 {
		if _, err := s.Put(ctx, []byte("more")); err == nil {
			t.Error("stored on a full disk")
		}
	}
	if len(warnings) != 1 || !errors.Is(warnings[0], syscall.ENOSPC) || tries != 1 {
		t.Errorf("warnings %v, %d tries", warnings, tries)
	}
	if _, err := s.GetAction(ctx, key); err != nil {
		t.Errorf("what was stored before: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, tmpDir)); len(left) != 0 {
		t.Errorf("temporary files were left: %v", left)
	}
}

func TestVanishedFolder(t *testing.T) {
	s, dir := open(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	key, _ := record(t, s, "x", 10)
	if _, err := s.GetAction(context.Background(), key); err != nil {
		t.Error(err)
	}
}

const writerEnv = "PTOBUILD_TEST_CACHE_WRITER"

// TestMain: as a child with writerEnv set, the test binary stores actions until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		s, err := NewDisk(dir, nil)
		if err != nil {
			os.Exit(1)
		}
		ctx := context.Background()
		os.Stdout.WriteString("ready\n")
		for i := 0; ; i++ {
			b := bytes.Repeat([]byte(fmt.Sprintf("%8d", rand.IntN(500))), 1+rand.IntN(4000))
			d, err := s.Put(ctx, b)
			if err != nil {
				os.Exit(1)
			}
			if err := s.PutAction(ctx, NewKey(fmt.Sprint(i%50)).Sum(), &ActionResult{Outputs: []OutputFile{{Path: "out", Digest: d}}}); err != nil {
				os.Exit(1)
			}
			if i%40 == 39 {
				if _, err := s.Collect(ctx, 1<<20, time.Now()); err != nil {
					os.Exit(1)
				}
			}
		}
	}
	os.Exit(m.Run())
}

// Writers and collectors killed at any moment leave whole entries, and a lock that is free.
func TestKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	s, err := NewDisk(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 40 {
		var cmds []*exec.Cmd
		for range 2 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), writerEnv+"="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			cmds = append(cmds, cmd)
		}
		time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // the moment of the kill is the point of the test
		for _, cmd := range cmds {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("round %d: a writer failed by itself: %v", round, err)
			}
		}
		v, err := s.Verify(context.Background())
		if err != nil || v.Damaged.Entries != 0 {
			t.Fatalf("round %d: %+v, %v", round, v, err)
		}
	}
	if st, err := s.Stats(); err != nil || st.Actions == 0 {
		t.Errorf("%+v, %v: the writers wrote nothing", st, err)
	}
	if _, err := s.Collect(context.Background(), 0, time.Now()); err != nil {
		t.Error(err)
	}
	if st, err := s.Stats(); err != nil || st.Blobs != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}
