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

// kubernetesVersion is the name of the flag with the version to behave as.
const kubernetesVersion = "kubernetes-version"

// addKubernetesVersion gives a command the flag, which emulate reads.
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

// emulate makes the program behave as a version. The version of a process is fixed at its start by its environment, so emulate starts
// the program again, unless it has the version already.
func emulate(text string) error { return emulateBy(release.Variable, text) }

// emulateBy is emulate with the variable that says whether the server has the version or emulates it.
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
	return startAnewWith(variable, version.String())
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

// follow gives the program the oldest compatible version and the feature gates of flags, as emulate does it with the version.
func follow(flags *serverflags.Flags) error {
	if err := release.Check(); err != nil { // starting again would not end
		return err
	}
	oldest, err := release.ParseMinCompatibility(flags.MinCompatibilityVersion())
	if err != nil {
		return fmt.Errorf("--min-compatibility-version: %w", err)
	}
	if !oldest.EqualTo(release.MinCompatibility()) {
		return startAnewWith(release.MinCompatibilityVariable, oldest.String())
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
	return startAnewWith(release.GatesVariable, release.FormatGates(parsed))
}

// startAnewWith starts the program again with a variable. It returns only if that fails.
func startAnewWith(variable, value string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(variable, value); err != nil {
		return err
	}
	return startAnew(self, os.Environ())
}

// versionOfFolder returns the version at the end of the name of the program's folder, which "fakecluster envtest" has made. It is empty
// for the newest.
func versionOfFolder(program string) string {
	_, version, _ := strings.Cut(filepath.Base(filepath.Dir(program)), "-")
	if v, err := release.Parse(version); err == nil && version != "" {
		return v.String()
	}
	return ""
}
