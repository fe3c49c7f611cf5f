// Package emulation lets the process behave as an older minor version of Kubernetes, as kube-apiserver does with
// --emulated-version.
//
// Upstream's feature gates belong to the process, and upstream's packages read them while they are initialized. So the
// version is that of an environment variable at the start of the process, and cannot change afterwards.
package emulation

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
)

// Variable is the environment variable with the version, such as 1.35; empty: the newest.
const Variable = "FAKECLUSTER_KUBERNETES_VERSION"

// The versions that a process can have. Upstream emulates three versions before its own.
var (
	newest = version.MajorMinor(1, 37)
	oldest = version.MajorMinor(1, 34)
)

// atStart is the value of the variable when the process started, and mistake is what is wrong with it.
var (
	atStart = os.Getenv(Variable)
	mistake = emulate(atStart)
)

// emulate lets the process behave as the version of a text.
func emulate(text string) error {
	to, err := Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", Variable, err)
	}
	if to.EqualTo(newest) {
		return nil
	}
	kube := effective().(basecompatibility.MutableEffectiveVersion)
	kube.SetEmulationVersion(to)
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersionAndMinCompatibilityVersion(kube.EmulationVersion(), kube.MinCompatibilityVersion())
}

func effective() basecompatibility.EffectiveVersion {
	return compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
}

// Parse returns the version of a text such as "1.35" or "v1.35"; of "", it is the newest.
func Parse(text string) (*version.Version, error) {
	if text == "" {
		return newest, nil
	}
	for _, one := range all() {
		if strings.TrimPrefix(text, "v") == one.String() {
			return one, nil
		}
	}
	return nil, fmt.Errorf("fakecluster does not have Kubernetes %q: write %s", text, Choices())
}

// all returns the versions that a process can have, the oldest first.
func all() (versions []*version.Version) {
	for of := oldest; !of.GreaterThan(newest); of = of.AddMinor(1) {
		versions = append(versions, of)
	}
	return versions
}

// Names returns the versions that a process can have, the oldest first, such as 1.35.
func Names() (names []string) {
	for _, one := range all() {
		names = append(names, one.String())
	}
	return names
}

// Choices names the versions, for a message.
func Choices() string {
	names := Names()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Version returns the version that the process behaves as.
func Version() *version.Version { return effective().EmulationVersion() }

// MinCompatibility returns the version that has to be able to read what is stored: the one before.
func MinCompatibility() *version.Version { return effective().MinCompatibilityVersion() }

// IsOlder reports whether the process behaves as an older version than the newest.
func IsOlder() bool { return Version().LessThan(newest) }

// Suffix returns what distinguishes the name of something that is for one version; empty: of the newest.
func Suffix(of *version.Version) string {
	if of.EqualTo(newest) {
		return ""
	}
	return "-" + of.String()
}

// Check returns why a cluster cannot be started with the version that the environment variable asks for.
func Check() error {
	if now := os.Getenv(Variable); now != atStart {
		return fmt.Errorf("%s was set to %q after the program had started: set it in the environment of go test", Variable, now)
	}
	return mistake
}

// Has reports whether a version has the kind of an object. Upstream's types say themselves since when.
func Has(in *version.Version, obj runtime.Object) bool {
	since, ok := obj.(interface{ APILifecycleIntroduced() (major, minor int) })
	if !ok {
		return true
	}
	major, minor := since.APILifecycleIntroduced()
	return in.AtLeast(version.MajorMinor(uint(major), uint(minor)))
}
