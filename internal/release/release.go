package release

import (
	"runtime"
	"strconv"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	baseversion "k8s.io/component-base/version"
)

// Libraries is the release of k8s.io/kubernetes in go.mod, which /version has. A test compares the two.
const Libraries = "v1.37.1"

// newest is the minor version of the libraries, and oldest the oldest that they can emulate.
var (
	newest = utilversion.MustParse(baseversion.DefaultKubeBinaryVersion)
	oldest = newest.SubtractMinor(3)
)

// Newest returns the minor version of the libraries, such as 1.35, whatever the process behaves as.
func Newest() *utilversion.Version { return newest }

// Info returns the body of /version: the Kubernetes release of the server, which is that of the libraries or an older
// one.
func Info() version.Info {
	release := utilversion.MustParse(Libraries)
	if older := own(); older != nil {
		release = utilversion.MustParse(older.Release)
	}
	return version.Info{
		Major: number(release.Major()), Minor: number(release.Minor()), GitVersion: "v" + release.String(), GitTreeState: "clean",
		EmulationMajor: number(Version().Major()), EmulationMinor: number(Version().Minor()),
		MinCompatibilityMajor: number(MinCompatibility().Major()), MinCompatibilityMinor: number(MinCompatibility().Minor()),
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func number(n uint) string { return strconv.FormatUint(uint64(n), 10) }
