package builtin

import (
	"embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/internal/metadata"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/store"
)

// initialText has the initial objects of every cluster, except APIServices. A line has a store key, a space, and the
// stored object, with placeholders for what differs between clusters. TestInitialObjects compares them with those of
// upstream's code; with -update it writes the file.
//
//go:embed initial.txt
var initialText string

// initialOlder has a file for each older release that can be emulated, with the differences from initialText: a line for
// each new or changed object, and the key alone for an object that is missing.
//
//go:embed initial-*.txt
var initialOlder embed.FS

// olderFile returns the name of the file of a release.
func olderFile(release *version.Version) string { return "initial-" + release.String() + ".txt" }

// initialTexts returns the texts of the objects by key.
func initialTexts() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(initialText) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		texts[key] = text
	}
	older, err := initialOlder.ReadFile(olderFile(release.Version()))
	if err != nil {
		return texts // the newest release has no file
	}
	for line := range strings.Lines(string(older)) {
		key, text, exists := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if delete(texts, key); exists {
			texts[key] = text
		}
	}
	return texts
}

// The placeholders in the texts of initial objects.
const (
	placeUID      = "$(uid)"
	placeTime     = "$(time)"     // when the cluster started, as in metadata
	placeDate     = "$(date)"     // the same day
	placeRevision = "$(revision)" // the object's resourceVersion
)

// initial is an initial object of every cluster.
type initial struct {
	key, tag, index string
	parts           []string // texts and placeholders, alternating
	size            int      // approximate size of the text with its placeholders filled in
}

// newInitial parses an object with placeholders.
func newInitial(key, text string) initial {
	i := initial{key: key, tag: gjson.Get(text, "apiVersion").Str, index: metadata.Get(text, "labels").Raw, size: len(text)}
	for {
		before, after, found := strings.Cut(text, "$(")
		i.parts = append(i.parts, before)
		if !found {
			return i
		}
		name, rest, _ := strings.Cut(after, ")")
		i.parts = append(i.parts, "$("+name+")")
		i.size += len("00000000-0000-0000-0000-000000000000")
		text = rest
	}
}

// defaultInitials returns the objects of initialText, with its own addresses.
var defaultInitials = sync.OnceValue(func() []initial { return readInitialText(Network{}) })

// readInitialText returns the objects of initialText with the addresses of a network.
func readInitialText(n Network) []initial {
	var initials []initial
	texts := initialTexts()
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		text, ok := texts[key], true
		if n != (Network{}) {
			key, text, ok = n.adapt(key, text)
		}
		if ok {
			initials = append(initials, newInitial(key, text))
		}
	}
	return initials
}

// initials caches the initial objects by Options.key, for 16 of them.
var initials = cache.New[string, []initial](16)

// initialsOf returns the initial objects of a cluster with the options, sorted by key.
func initialsOf(o Options) []initial {
	key := o.key() + o.Network.String()
	cached, _ := initials.Make(key, 1, func() ([]initial, error) { return newInitials(o), nil })
	return cached
}

func newInitials(o Options) []initial {
	text := defaultInitials()
	if o.Network != (Network{}) {
		text = readInitialText(o.Network)
	}
	kept := slices.DeleteFunc(slices.Clone(text), func(i initial) bool { return !served(o, i.key) })
	for _, gv := range servedVersions(o) {
		if text, ok := localAPIService(gv); ok {
			kept = append(kept, newInitial(KeyPrefix("apiservices")+apiServiceName(gv), text))
		}
	}
	slices.SortFunc(kept, func(a, b initial) int { return strings.Compare(a.key, b.key) })
	return kept
}

// served reports whether any version of the object with a store key is served.
func served(o Options, key string) bool {
	plural, _, _ := strings.Cut(strings.TrimPrefix(key, keyRoot), "/")
	found := false
	for _, g := range groups {
		for i := range g.kinds {
			if k := &g.kinds[i]; k.plural == plural {
				if len(k.served(g, o)) > 0 {
					return true
				}
				found = true
			}
		}
	}
	return !found
}

// InitialRecords returns the initial records of a cluster, sorted by key: those that kube-apiserver creates without
// controllers. It calls uid for each of them in turn. The first record has the given revision, and each further one the
// next revision.
func InitialRecords(o Options, now time.Time, uid func() string, revision int64) []store.Record {
	initials := initialsOf(o)
	created := now.UTC().Format(time.RFC3339)
	date := now.UTC().Format(time.DateOnly)

	// Allocate the memory for all texts once.
	size := 0
	for i := range initials {
		size += initials[i].size
	}
	var text strings.Builder
	text.Grow(size)
	ends := make([]int, len(initials))
	for i := range initials {
		for n, part := range initials[i].parts {
			switch {
			case n%2 == 0:
				text.WriteString(part)
			case part == placeUID:
				text.WriteString(uid())
			case part == placeTime:
				text.WriteString(created)
			case part == placeDate:
				text.WriteString(date)
			case part == placeRevision:
				var digits [20]byte
				text.Write(strconv.AppendInt(digits[:0], revision+int64(i), 10))
			}
		}
		ends[i] = text.Len()
	}

	records := make([]store.Record, len(initials))
	begin := 0
	for i, end := range ends {
		r := revision + int64(i)
		records[i] = store.Record{
			Key: initials[i].key, Value: text.String()[begin:end], Tag: initials[i].tag, Index: initials[i].index, Revision: r, Created: r,
		}
		begin = end
	}
	return records
}

// InitialKeys returns the store keys with a prefix that initial objects of a cluster with the options have, in order.
func InitialKeys(o Options, prefix string) (keys []string) {
	for _, i := range initialsOf(o) {
		if strings.HasPrefix(i.key, prefix) {
			keys = append(keys, i.key)
		}
	}
	return keys
}

// IsInitial reports whether the object with a store key is an initial object of a cluster with the options.
func IsInitial(o Options, key string) bool {
	_, found := slices.BinarySearchFunc(initialsOf(o), key, func(i initial, key string) int { return strings.Compare(i.key, key) })
	return found
}
