package graph

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Commands that need the same plugin at the same time build it once: it is neither moved away nor written to while another one takes it for built.
func TestPluginBuiltOnce(t *testing.T) {
	for _, files := range []string{"", `files = ["src"]`} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			ConfigName: "[plugins.acme]\npath = \"out/acme\"\nbuild = [\"sh\", \"make.sh\"]\n" + files + "\n",
			"src":      "the plugin",
			"make.sh":  "echo run >>log; test ! -e out/acme && cp src out/acme",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		const commands = 8
		var ready, done sync.WaitGroup
		ready.Add(commands)
		for range commands {
			w, ds := Open(dir)
			if ds.HasErrors() {
				t.Fatal(ds)
			}
			done.Go(func() {
				ready.Done()
				ready.Wait()
				if _, lost, ds := w.Plugins(t.Context()); len(lost) > 0 || ds.HasErrors() {
					t.Error(lost, ds)
				}
			})
		}
		done.Wait()
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if runs := strings.Count(string(log), "run"); err != nil || files != "" && runs != 1 || runs == 0 {
			t.Errorf("with %q it was built %d times (%v)", files, runs, err)
		}
	}
}

// A build command is not waited for beyond its end, and when ptobuild is interrupted it ends with all that it started.
func TestPluginBuildLeavesServer(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		dir := t.TempDir()
		command := "while [ -e make.sh ]; do sleep 0.1; done"
		if !interrupted {
			command = "setsid sh -c '" + command + "' & cp make.sh acme"
		}
		for name, text := range map[string]string{ConfigName: "[plugins.acme]\npath = \"acme\"\nbuild = [\"sh\", \"make.sh\"]\n", "make.sh": "touch began\n" + command + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w, ds := Open(dir)
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if interrupted {
			go func() {
				for {
					if _, err := os.Stat(filepath.Join(dir, "began")); err == nil {
						cancel()
						return
					}
					runtime.Gosched()
				}
			}()
		}
		_, lost, _ := w.Plugins(ctx)
		cancel()
		if d := lost["acme"]; (d != nil) != interrupted || interrupted && !strings.Contains(d.Message, "context canceled") {
			t.Error(d)
		}
	}
}
