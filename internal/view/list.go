package view

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// list is the JSON of a list of objects of a version. Only its pieces are in memory, never the whole.
type list struct {
	version *resource.Version
	page    Page
	items   []string
	end     string // follows the JSON
}

// pieces yields the pieces of the JSON in order.
func (l list) pieces(yield func(string) bool) {
	head, tail := envelope(l.version, l.page)
	// The items of a list of typed objects have no kind and no apiVersion.
	typeMeta := ""
	if l.version.Typed {
		typeMeta = typeMetaOf(l.version)
	}
	more := yield(head)
	for i, item := range l.items {
		if !more {
			return
		}
		if i > 0 {
			more = yield(",")
		}
		if rest, ok := strings.CutPrefix(item, typeMeta); ok && typeMeta != "" {
			more = more && yield("{")
			item = rest
		}
		more = more && yield(item)
	}
	if more {
		yield(tail + l.end)
	}
}

// text returns the JSON in one piece.
func (l list) text() string {
	var b strings.Builder
	for piece := range l.pieces {
		b.WriteString(piece)
	}
	return b.String()
}

// typeMetaOf returns the beginning of the JSON of each typed object of a version.
func typeMetaOf(v *resource.Version) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, v.Resource.Names.Kind, v.GroupVersion())
}

// envelope returns the JSON before and after the items of a list. As upstream encodes them, typed lists have the order
// of the Go fields, and others have sorted keys.
func envelope(v *resource.Version, p Page) (head, tail string) {
	revision := p.resourceVersion()
	if v.Typed {
		metadata, err := json.Marshal(metav1.ListMeta{ResourceVersion: revision, Continue: p.Continue, RemainingItemCount: p.Remaining})
		if err != nil {
			panic(err) // strings and a number
		}
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, v.Resource.Names.ListKind, v.GroupVersion(), metadata), "]}"
	}
	remaining := ""
	if p.Remaining != nil {
		remaining = fmt.Sprintf(`"remainingItemCount":%d,`, *p.Remaining)
	}
	return fmt.Sprintf(`{"apiVersion":%q,"items":[`, v.GroupVersion()),
		fmt.Sprintf(`],"kind":%q,"metadata":{"continue":%q,%s"resourceVersion":%q}}`, v.Resource.Names.ListKind, p.Continue, remaining, revision)
}
