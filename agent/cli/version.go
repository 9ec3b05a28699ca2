package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what is known of how this program was built.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// VersionCommand prints the version of the program. version is what the linker was given, if anything.
func VersionCommand(version string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  regent version
  regent version --json`,
		Args: NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b := thisBuild(version)
			if asJSON {
				return WriteJSON(c, b)
			}
			fmt.Fprintln(c.OutOrStdout(), b.line(c.Root().Name()))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// VersionFlag gives the root command --version, which people type before they look for the command.
func VersionFlag(root *cobra.Command, version string) {
	root.Version = thisBuild(version).line(root.Name())
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
}

// line is what people get to see.
func (b build) line(program string) string {
	return fmt.Sprintf("%s %s %s %s/%s", program, b.Version, b.Go, b.OS, b.Arch)
}

// Version returns the version of this program.
func Version(version string) string { return thisBuild(version).Version }

// thisBuild reads the build information of this program.
func thisBuild(version string) build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version == "" && ok && info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	return b
}
