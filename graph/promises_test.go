package graph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What users of other build tools complain about most, and the tests that say that it is not so here. The correctness matrix (touch, edit, new content under
// an old time, output deleted or edited by hand, edit and restore) is TestChanges.
var promises = []struct {
	complaint string
	tests     []string // file:test from the root of the repository; a script is a test by itself
}{
	{"a watch is lost after an atomic save", []string{"graph/watch_test.go:TestWatch"}},
	{"several rebuilds for a save, or rebuilds without an end", []string{"graph/watch_test.go:TestWatchStorm", "graph/watch_test.go:TestWatchIgnoresTheRest", "graph/session_test.go:TestChanges"}},
	{"changes are collected for too short or too long", []string{"graph/watch_test.go:TestWatchStorm", "graph/watch_test.go:TestWatchBusyFile"}},
	{"a checkout builds half a tree", []string{"graph/watch_test.go:TestWatchWaitsForGit", "graph/watch_test.go:TestWatchBranchSwitch"}},
	{"one waits for a build that is obsolete", []string{"graph/session_test.go:TestCancelledBuild", "graph/engine_test.go:TestCancelledAction"}},
	{"a watch answers to its own output", []string{"graph/watch_test.go:TestWatchIgnoresTheRest"}},
	{"lost events are not noticed", []string{"graph/watch_test.go:TestWatchOverflow"}},
	{"files in new folders are missed", []string{"graph/watch_test.go:TestWatch"}},
	{"no space left on device", []string{"graph/watch_test.go:TestWatchFallsBackToPolling"}},
	{"a folder that cannot be watched goes stale", []string{"graph/watch_test.go:TestWatchFallsBackToPolling"}},
	{"there are no events on a network file system", []string{"graph/watch_test.go:TestWatchFallsBackToPolling"}},
	{"changed build files and dependencies are not watched", []string{"cmd/ptobuild/watch_test.go:TestWatchCommand", "graph/watch_test.go:TestWatch", "cmd/ptobuild/testdata/script/plugin_keys.txtar"}},
	{"nothing works after a first build with errors", []string{"cmd/ptobuild/watch_test.go:TestWatchCommand"}},
	{"children leak", []string{"runtime/native/misuse_test.go:Test63Hang", "plugins/client/launch_test.go:TestNoOrphans"}},
	{"the watcher stands still when folders are added", []string{"graph/watch_test.go:TestWatchStorm"}},
	{"a watcher that starts afresh builds everything", []string{"graph/session_test.go:TestChanges", "graph/watch_test.go:TestWatchOverflow"}},
	{"a checkout builds everything", []string{"graph/session_test.go:TestChanges", "graph/random_test.go:TestRandomEdits"}},
	{"an older file put back is not built", []string{"graph/session_test.go:TestChanges"}},
	{"an input that is edited during the action poisons the cache", []string{"graph/session_test.go:TestInputChangesDuringBuild"}},
	{"success is cached while outputs are missing", []string{"graph/session_test.go:TestChanges", "cache/upkeep_test.go:TestDamagedResultIsNoHit"}},
	{"a failed action leaves half an output", []string{"graph/chaos_test.go:TestFullDisk", "graph/chaos_test.go:TestKilled"}},
	{"the log is damaged after an interrupt", []string{"graph/session_test.go:TestDamagedState", "graph/chaos_test.go:TestKilled", "graph/state/state_test.go:FuzzDecode"}},
	{"the output of a rule that is gone is still used", []string{"graph/session_test.go:TestChanges", "graph/session_test.go:TestCompileCommands"}},
	{"a header is not tracked", []string{"cmd/ptobuild/testdata/script/cpp.txtar"}},
	{"why did this build again?", []string{"cmd/ptobuild/testdata/script/why.txtar"}},
	{"PATH and TMPDIR leak into keys", []string{"graph/session_test.go:TestKeysHaveNoPlace"}},
	{"a variable is not in the key", []string{"ir/lang/eval/load_test.go:TestEnvironment"}},
	{"a hash depends on the order of a map", []string{"graph/session_test.go:TestKeysHaveNoPlace", "cache/cache_test.go:TestKeysDoNotRunTogether"}},
	{"the cache grows without bound", []string{"cache/upkeep_test.go:TestLeastRecentlyUsedGoesFirst", "cache/upkeep_test.go:TestAutomaticCollection"}},
	{"a client that was killed holds the lock", []string{"cache/upkeep_test.go:TestKilledProcesses", "graph/chaos_test.go:TestBuildsAtOnce"}},
	{"a blob from the cache is another one", []string{"cache/cache_test.go:TestDamage", "cache/remote/syncer/syncer_test.go:TestBadServers"}},
	{"a setting that has no part in it builds everything", []string{"graph/session_test.go:TestChanges"}},
	{"output of a tool breaks its protocol", []string{"cmd/ptobuild/testdata/script/bazel.txtar", "plugins/client/client_test.go:TestBadPlugins"}},
	{"cached tests surprise, failures stay", []string{"cmd/ptobuild/testdata/script/cache.txtar", "graph/engine_test.go:TestFailureIsNotCached"}},
	{"plugins are left running", []string{"plugins/client/launch_test.go:TestNoOrphans"}},
	{"the lock file knows one platform", []string{"plugins/lock/lock_test.go:TestApply"}},
	{"an override for development fails the lock", []string{"cmd/ptobuild/testdata/script/plugin_commands.txtar"}},
	{"a generator of BUILD files eats edits", []string{"rules/buildgen/buildgen_test.go:TestGolden"}},
}

func TestPromisesHaveTests(t *testing.T) {
	for _, p := range promises {
		for _, name := range p.tests {
			file, test, script := strings.Cut(name, ":")
			text, err := os.ReadFile(filepath.Join("..", file))
			if err != nil || script && !strings.Contains(string(text), "\nfunc "+test+"(") {
				t.Errorf("%q: there is no %s (%v)", p.complaint, name, err)
			}
		}
	}
}
