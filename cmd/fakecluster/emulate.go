package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// kubernetesVersion is the name of the flag with the version of Kubernetes to behave as.
const kubernetesVersion = "kubernetes-version"

// addKubernetesVersion adds the flag to a command. emulateFlag reads it.
func addKubernetesVersion(cmd *cobra.Command) {
	cmd.Flags().String(kubernetesVersion, "", fmt.Sprintf("the `version` of Kubernetes to behave as: %s\n(default: $%s, or the newest)", release.Choices(), release.Variable))
}

// emulateFlag is emulate with the flag of a command.
func emulateFlag(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup(kubernetesVersion)
	if flag == nil || !flag.Changed {
		return nil
	}
	version, err := release.Parse(flag.Value.String())
	if err != nil {
		return usageError{fmt.Errorf("%s: --%s: %w", cmd.Name(), kubernetesVersion, err)}
	}
	if cmd.Name() == "envtest" {
		return nil // it prints a folder for the version
	}
	return emulate(version.String())
}

// emulate makes the program behave as a version of Kubernetes. Environment variables fix the version of a
// process at its start, so emulate executes the program again, unless it has the version already.
func emulate(text string) error { return emulateBy(release.Variable, text) }

// emulateBy is emulate with an environment variable: release.Variable for a server of the version, or
// release.EmulatedVariable for a newer server that emulates it.
func emulateBy(variable, text string) error {
	version, err := release.Parse(text)
	if err != nil || version.EqualTo(release.Version()) {
		return err
	}
	for _, other := range []string{release.Variable, release.EmulatedVariable} {
		if err := os.Unsetenv(other); err != nil {
			return err
		}
	}
	return reexecWith(variable, version.String())
}

// emulateAsDropIn makes kube-apiserver behave as the version of its folder, or as the newest kube-apiserver that emulates the version
// of its flag.
func emulateAsDropIn(program, flag string) error {
	own := versionOfFolder(program)
	version, err := release.Parse(flag)
	if flag == "" || err == nil && version.String() == own {
		return emulate(cmp.Or(own, release.Version().String()))
	}
	return emulateBy(release.EmulatedVariable, flag)
}

// follow sets the oldest compatible version and the feature gates of flags. As emulate does, it executes the
// program again if they differ from those of the process.
func follow(flags *serverflags.Flags) error {
	if err := release.Check(); err != nil { // executing the program again would fail in the same way, without end
		return err
	}
	oldest, err := release.ParseMinCompatibility(flags.MinCompatibilityVersion())
	if err != nil {
		return fmt.Errorf("--min-compatibility-version: %w", err)
	}
	if !oldest.EqualTo(release.MinCompatibility()) {
		return reexecWith(release.MinCompatibilityVariable, oldest.String())
	}
	gates, err := release.ParseGates(flags.List("feature-gates")...)
	if err == nil {
		gates, err = release.Change(gates)
	}
	if err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	if len(gates) == 0 {
		return nil
	}
	parsed, err := release.ParseGates(os.Getenv(release.GatesVariable))
	if err != nil {
		return err
	}
	maps.Copy(parsed, gates)
	return reexecWith(release.GatesVariable, release.FormatGates(parsed))
}

// reexecWith executes the program again with an environment variable. It returns only if that fails.
func reexecWith(variable, value string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(variable, value); err != nil {
		return err
	}
	return reexec(self, os.Environ())
}

// versionOfFolder returns the version at the end of the name of the program's folder, as "fakecluster
// envtest" makes it. It is empty for the newest version.
func versionOfFolder(program string) string {
	_, version, _ := strings.Cut(filepath.Base(filepath.Dir(program)), "-")
	if v, err := release.Parse(version); err == nil && version != "" {
		return v.String()
	}
	return ""
}
