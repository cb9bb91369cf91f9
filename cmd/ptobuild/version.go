package main

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ptobuild/ptobuild/codegen/orch"
)

type versionInfo struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"`
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Profiles []string `json:"profiles"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the API profiles",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Profiles: orch.Names()}
			if bi, ok := debug.ReadBuildInfo(); ok {
				if bi.Main.Version != "" && bi.Main.Version != "(devel)" {
					v.Version = bi.Main.Version
				}
				for _, s := range bi.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			if a.ui.JSON {
				return a.ui.Result(v)
			}
			a.ui.Printf("ptobuild %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			a.ui.Printf("API profiles:")
			for _, p := range v.Profiles {
				a.ui.Printf(" %s", p)
			}
			a.ui.Printf("\n")
			return nil
		},
	}
}

// toolID identifies this very binary, or one that it starts, in action keys: the linker's build id, which changes with every change of the code, else the content of
// the file is too large to hash on each start and the version has to do.
func toolID(exe string) string {
	f, err := elf.Open(exe)
	if err != nil {
		return buildVersion()
	}
	defer f.Close()
	s := f.Section(".note.go.buildid")
	if s == nil {
		return buildVersion()
	}
	b, err := s.Data()
	if err != nil {
		return buildVersion()
	}
	return hex.EncodeToString(b)
}

func buildVersion() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		return bi.Main.Version + bi.Main.Sum
	}
	return "devel"
}

// executable is the path of this binary.
func executable() (string, error) { return os.Executable() }
