package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/fakecluster/fakecluster/internal/release"
)

// RuntimeConfig turns on versions that are off by default, and turns off others.
type RuntimeConfig struct {
	versions map[schema.GroupVersion]bool // versions that are off by default, turned on
	off      map[schema.GroupVersion]bool // versions that are on by default, turned off
}

// needed are the groups that the server itself reads and writes. Their versions cannot be turned off.
var needed = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "networking.k8s.io",
	"rbac.authorization.k8s.io", "storagemigration.k8s.io",
}

// stabilities are the names for many versions; a later one overrides an earlier one. The names of its versions, among
// those that are off by default, contain mark; none of these is stable.
var stabilities = []struct{ name, mark string }{{"api/all", "v"}, {"api/ga", ""}, {"api/beta", "beta"}, {"api/alpha", "alpha"}}

// ParseRuntimeConfig parses values of kube-apiserver's flag --runtime-config: versions with true or false, separated by
// commas, as in
//
//	resource.k8s.io/v1beta2=true,coordination.k8s.io/v1beta1=true
//
// A version without a value is turned on. A version that is on by default can be turned off, unless the server itself
// needs it. api/all means all versions, and api/ga, api/beta and api/alpha all versions of that stability. The name of a
// version overrides these, and a later value overrides an earlier one for the same name.
func ParseRuntimeConfig(texts ...string) (RuntimeConfig, error) {
	c := RuntimeConfig{versions: map[schema.GroupVersion]bool{}, off: map[schema.GroupVersion]bool{}}
	said := map[string]bool{}
	for _, text := range texts {
		for _, one := range strings.Split(text, ",") {
			if one = strings.TrimSpace(one); one == "" {
				continue
			}
			name, value, given := strings.Cut(one, "=")
			if given && value != "true" && value != "false" {
				return c, fmt.Errorf("%q: the value must be true or false", one)
			}
			said[name] = value != "false"
		}
	}
	for _, stability := range stabilities {
		served, ok := said[stability.name]
		if !ok {
			continue
		}
		delete(said, stability.name)
		if !served && stability.mark != "beta" && stability.mark != "alpha" {
			return c, fmt.Errorf("%q: fakecluster cannot turn off all stable versions, because the server itself needs v1 and the versions of %s: name the versions to turn off",
				stability.name+"=false", strings.Join(needed, ", "))
		}
		for gv := range optional() {
			if stability.mark != "" && strings.Contains(gv.Version, stability.mark) {
				c.versions[gv] = served
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if err := c.set(name, said[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c RuntimeConfig) set(name string, served bool) error {
	if strings.HasPrefix(name, "api/") {
		return fmt.Errorf("%q: unknown name; write api/all, api/ga, api/beta, api/alpha or a version", name)
	}
	gv, err := schema.ParseGroupVersion(name)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	switch {
	case optional()[gv]:
		c.versions[gv] = served
	case !servedByDefault(gv) && isRemoved(gv):
		// A real server accepts the setting, and serves nothing.
	case !servedByDefault(gv):
		return fmt.Errorf("%q: there is no such version; those that are off by default are %s", name, strings.Join(OptionalVersions(), ", "))
	case served:
	case gv.Group == "" || slices.Contains(needed, gv.Group):
		return fmt.Errorf("%q: fakecluster cannot turn off the version, because the server itself needs it", name+"=false")
	default:
		c.off[gv] = true
	}
	return nil
}

// servedByDefault reports whether a version is on by default.
func servedByDefault(gv schema.GroupVersion) bool {
	for _, g := range groups {
		if g.name != gv.Group {
			continue
		}
		if g == &definitions {
			return gv.Version == "v1"
		}
		for _, k := range g.kinds {
			if slices.Contains(k.versions, gv.Version) {
				return true
			}
		}
	}
	return false
}

// isRemoved reports whether all kinds of a version were removed in a former release, according to Kubernetes' types.
func isRemoved(gv schema.GroupVersion) bool {
	removed := false
	for kind := range legacyscheme.Scheme.KnownTypes(gv) {
		obj, err := legacyscheme.Scheme.New(gv.WithKind(kind))
		if err != nil {
			return false
		}
		if _, isKind := obj.(metav1.ObjectMetaAccessor); !isKind {
			continue // a list, or options
		}
		until, limited := obj.(interface{ APILifecycleRemoved() (major, minor int) })
		if !limited {
			return false
		}
		if major, minor := until.APILifecycleRemoved(); release.Version().LessThan(version.MajorMinor(uint(major), uint(minor))) {
			return false
		}
		removed = true
	}
	return removed
}

// optional returns the set of versions that are off by default.
func optional() map[schema.GroupVersion]bool {
	versions := map[schema.GroupVersion]bool{}
	for _, g := range groups {
		for _, k := range g.kinds {
			for _, v := range k.optional {
				versions[schema.GroupVersion{Group: g.name, Version: v}] = true
			}
		}
	}
	return versions
}

// OptionalVersions returns the versions that are off by default, sorted.
func OptionalVersions() []string {
	var names []string
	for gv := range optional() {
		names = append(names, gv.String())
	}
	slices.Sort(names)
	return names
}

func (c RuntimeConfig) serves(gv schema.GroupVersion) bool { return c.versions[gv] }

// String returns the versions that are turned on and then those that are turned off, sorted.
func (c RuntimeConfig) String() string {
	var names []string
	for _, gv := range slices.SortedFunc(maps.Keys(c.versions), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		if c.versions[gv] {
			names = append(names, gv.String())
		}
	}
	for _, gv := range slices.SortedFunc(maps.Keys(c.off), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		names = append(names, gv.String()+"=false")
	}
	return strings.Join(names, ",")
}
