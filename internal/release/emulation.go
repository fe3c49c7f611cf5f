package release

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
)

// Variable is the environment variable with the version of the server, such as 1.35. Default: the newest.
const Variable = "FAKECLUSTER_KUBERNETES_VERSION"

// EmulatedVariable is the environment variable with the version that the newest server emulates, such as 1.35. Default: the newest. Only
// one of Variable and EmulatedVariable may be given.
const EmulatedVariable = "FAKECLUSTER_EMULATED_VERSION"

// MinCompatibilityVariable is the environment variable with the oldest version that must be able to read the stored objects, such as
// 1.35. Default: the one before the version that the process behaves as.
const MinCompatibilityVariable = "FAKECLUSTER_MIN_COMPATIBILITY_VERSION"

// variables are the environment variables that are read when the process starts.
var variables = []string{Variable, EmulatedVariable, MinCompatibilityVariable, GatesVariable}

// atStart has the values of the variables when the process started, and mistake the error of following them.
var (
	atStart = values()
	mistake = follow(atStart)
)

func values() map[string]string {
	info := map[string]string{}
	for _, name := range variables {
		info[name] = os.Getenv(name)
	}
	return info
}

// follow sets the version and the gates of the process by the variables.
func follow(values map[string]string) error {
	if values[Variable] != "" && values[EmulatedVariable] != "" {
		return fmt.Errorf("%s and %s are both set: remove one of them", Variable, EmulatedVariable)
	}
	for _, variable := range []string{Variable, EmulatedVariable} {
		if err := emulate(values[variable]); err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
	}
	if err := setMinCompatibility(values[MinCompatibilityVariable]); err != nil {
		return fmt.Errorf("%s: %w", MinCompatibilityVariable, err)
	}
	if err := setGates(values[GatesVariable]); err != nil {
		return fmt.Errorf("%s: %w", GatesVariable, err)
	}
	return nil
}

// emulate makes the process behave as a version, which Parse reads.
func emulate(text string) error {
	to, err := Parse(text)
	if err != nil {
		return err
	}
	kube := effective().(basecompatibility.MutableEffectiveVersion)
	if !to.EqualTo(newest) {
		kube.SetEmulationVersion(to)
	}
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersionAndMinCompatibilityVersion(kube.EmulationVersion(), kube.MinCompatibilityVersion())
}

// setMinCompatibility sets the oldest version that must be able to read the stored objects. The process behaves as its version already.
func setMinCompatibility(text string) error {
	to, err := ParseMinCompatibility(text)
	if err != nil {
		return err
	}
	kube := effective().(basecompatibility.MutableEffectiveVersion)
	kube.SetMinCompatibilityVersion(to)
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersionAndMinCompatibilityVersion(kube.EmulationVersion(), to)
}

func effective() basecompatibility.EffectiveVersion {
	return compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
}

// Parse parses a version such as "1.35" or "v1.35"; "" is the newest.
func Parse(text string) (*version.Version, error) {
	if text == "" {
		return newest, nil
	}
	for _, v := range emulatable() {
		if strings.TrimPrefix(text, "v") == v.String() {
			return v, nil
		}
	}
	return nil, fmt.Errorf("fakecluster does not have Kubernetes %q: write %s", text, Choices())
}

// ParseMinCompatibility parses the oldest version that must be able to read the stored objects; "" is that of the
// process.
func ParseMinCompatibility(text string) (*version.Version, error) {
	if text == "" {
		return MinCompatibility(), nil
	}
	to, err := version.ParseGeneric(strings.TrimPrefix(text, "kube="))
	if err != nil {
		return nil, err
	}
	if to = version.MajorMinor(to.Major(), to.Minor()); to.LessThan(oldest) || to.GreaterThan(Version()) {
		return nil, fmt.Errorf("minCompatibilityVersion version %s is not between [%s, %s]", to, oldest, Version())
	}
	return to, nil
}

// emulatable returns the versions, the oldest first: the older ones with a file, and the newest.
func emulatable() (versions []*version.Version) {
	for v := oldest; v.LessThan(newest); v = v.AddMinor(1) {
		if _, err := fs.Stat(files, fileName(v.String())); err == nil {
			versions = append(versions, v)
		}
	}
	return append(versions, newest)
}

// Names returns the versions that a process can have, the oldest first, such as 1.35.
func Names() (names []string) {
	for _, v := range emulatable() {
		names = append(names, v.String())
	}
	return names
}

// Choices returns the versions as a phrase for a message: "1.34, 1.35 or 1.36".
func Choices() string {
	names := Names()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Version returns the version that the process behaves as.
func Version() *version.Version { return effective().EmulationVersion() }

// MinCompatibility returns the oldest version that must be able to read the stored objects.
func MinCompatibility() *version.Version { return effective().MinCompatibilityVersion() }

// Older returns the version of a server that is older than the newest, such as 1.35. It returns "" for the newest
// server, whatever it emulates.
func Older() string {
	if atStart[EmulatedVariable] != "" || Version().EqualTo(newest) {
		return ""
	}
	return Version().String()
}

// Suffix returns the suffix of files and folders that belong to a version, such as "-1.35"; "" for the newest.
func Suffix(v *version.Version) string {
	if v.EqualTo(newest) {
		return ""
	}
	return "-" + v.String()
}

// ProcessSuffix is Suffix for files that belong to all processes with the same variables. It has a checksum of the
// variables besides the version: "-1.35-1c291ca3".
func ProcessSuffix() string {
	gates, err := ParseGates(atStart[GatesVariable])
	if err != nil || len(gates) == 0 && atStart[EmulatedVariable] == "" && atStart[MinCompatibilityVariable] == "" {
		return Suffix(Version()) // with an error, which Check returns, no process starts
	}
	others := fmt.Sprint(Older(), MinCompatibility(), FormatGates(gates))
	return fmt.Sprintf("%s-%08x", Suffix(Version()), crc32.ChecksumIEEE([]byte(others)))
}

// Check returns an error if an environment variable has an unknown version or gate, or was changed after the start of the process.
func Check() error {
	for _, variable := range variables {
		if now := os.Getenv(variable); now != atStart[variable] {
			return fmt.Errorf("%s was set to %q after the program had started: set it in the environment of go test", variable, now)
		}
	}
	return mistake
}

// Has reports whether a version has the kind of an object. Upstream's types name the version that introduced them.
func Has(v *version.Version, obj runtime.Object) bool {
	since, ok := obj.(interface{ APILifecycleIntroduced() (major, minor int) })
	if !ok {
		return true
	}
	major, minor := since.APILifecycleIntroduced()
	return v.AtLeast(version.MajorMinor(uint(major), uint(minor)))
}
