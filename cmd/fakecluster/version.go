package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/release"
)

// unreleased is the version of a program that was built from a clone, without a tag.
const unreleased = "(devel)"

// build describes this program.
type build struct {
	Version    string   `json:"version"`
	Commit     string   `json:"commit,omitempty"`   // empty: Go has not recorded it, as after "go install …@VERSION"
	Modified   bool     `json:"modified,omitempty"` // the clone had changes that were not committed
	Go         string   `json:"go"`
	Platform   string   `json:"platform"`
	Kubernetes string   `json:"kubernetes"`         // the version that is served without --kubernetes-version
	BehavesAs  []string `json:"kubernetesVersions"` // the values of --kubernetes-version
}

// thisBuild describes this program by the build information that Go has recorded in it.
func thisBuild() build {
	b := build{
		Version: unreleased, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Kubernetes: release.Libraries, BehavesAs: release.Names(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// write prints the description for people, a line for each fact.
func (b build) write(w io.Writer) error {
	commit := b.Commit
	if commit == "" {
		commit = "not recorded"
	}
	if b.Modified {
		commit += ", with changes"
	}
	_, err := fmt.Fprintf(w, "fakecluster %s\ncommit:     %s\ngo:         %s %s\nkubernetes: %s, also as %s\n",
		b.Version, commit, b.Go, b.Platform, b.Kubernetes, strings.Join(b.BehavesAs[:len(b.BehavesAs)-1], ", "))
	return err
}

func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print the versions of fakecluster and of the Kubernetes that it serves",
		Long: `Print the version of fakecluster, the commit and the Go release that it was built with,
and the versions of Kubernetes that it serves. A program that was built by "go install"
does not record the commit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "":
				return thisBuild().write(cmd.OutOrStdout())
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(thisBuild())
			}
			return usageError{fmt.Errorf("version: --output: %q is not a format: write json, or leave the flag out", output)}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json prints one JSON object in one line")
	return cmd
}
