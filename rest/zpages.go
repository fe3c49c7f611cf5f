package rest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/statusz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/zpages/features"

	"github.com/fakecluster/fakecluster/internal/release"
)

// commandLine returns the flags that /flagz shows, by name.
type commandLine func() map[string]string

// GetFlagz implements upstream's flagz.Reader.
func (c commandLine) GetFlagz() map[string]string {
	if c == nil {
		return map[string]string{}
	}
	return c()
}

// serveFlagz serves /flagz by upstream's handler: all flags, and their values.
func serveFlagz(w http.ResponseWriter, req *http.Request, line commandLine) {
	flags := line.GetFlagz()
	mux := http.NewServeMux()
	flagz.Install(mux, "apiserver", commandLine(func() map[string]string { return flags }))
	mux.ServeHTTP(colons{w, func(text []byte) []byte {
		names := slices.Sorted(maps.Keys(flags))
		if len(names) == 0 {
			return text
		}
		header, _, _ := bytes.Cut(text, []byte("\n"+names[0]))
		for _, name := range names {
			header = fmt.Appendf(header, "\n%s:%s", name, flags[name])
		}
		return append(header, '\n')
	}}, req)
}

// zpages returns the paths of those z-pages that the version of the process has.
func zpages() (paths []string) {
	for path, gate := range map[string]featuregate.Feature{"/flagz": features.ComponentFlagz, "/statusz": features.ComponentStatusz} {
		if utilfeature.DefaultFeatureGate.Enabled(gate) {
			paths = append(paths, path)
		}
	}
	return paths
}

// serveStatusz serves /statusz by upstream's handler: the version that runs, since when, and the paths
// that it serves.
func serveStatusz(w http.ResponseWriter, req *http.Request, paths []string) {
	mux := http.NewServeMux()
	version := compatibility.NewEffectiveVersionFromString(release.Info().GitVersion, "", "")
	version.SetEmulationVersion(release.Version())
	statusz.Install(mux, "apiserver", statusz.NewRegistry(version, statusz.WithListedPaths(paths)))
	mux.ServeHTTP(colons{w, func(text []byte) []byte { return statuszNames.ReplaceAll(text, []byte("$1: ")) }}, req)
}

// statuszNames matches the names in the text of /statusz, and the delimiter behind each.
var statuszNames = regexp.MustCompile(`(?m)^(Started|Up|Go version|Binary version|Emulation version|Paths)(?:: |:|=| ) `)

// colons is a response whose text separates names from values by a colon. Upstream chooses the delimiter at
// random, so that clients do not parse the text. Responses of a cluster are deterministic, so this
// always chooses the first of upstream's delimiters.
type colons struct {
	http.ResponseWriter
	delimit func(text []byte) []byte
}

// Write implements http.ResponseWriter. Upstream writes whole lines, and the flags at once.
func (c colons) Write(text []byte) (int, error) {
	if !strings.HasPrefix(c.Header().Get("Content-Type"), "text/plain") {
		return c.ResponseWriter.Write(text)
	}
	_, err := c.ResponseWriter.Write(c.delimit(text))
	return len(text), err
}
