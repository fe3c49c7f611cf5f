package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestAnObjectIsStoredWithoutManagedFieldsIfItIsTooLargeWithThem writes 10,000 keys, whose
// names are a good half of what etcd takes and stand in managedFields once more.
func TestAnObjectIsStoredWithoutManagedFieldsIfItIsTooLargeWithThem(t *testing.T) {
	c := start(t)
	const path = "/api/v1/namespaces/default/configmaps"
	var keys strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&keys, `,"a-key-that-is-so-long-that-ten-thousand-of-them-are-almost-a-megabyte-of-it-%05d":""`, i)
	}
	data := `"data":{"k":"v"` + keys.String() + `}`
	config := func(name, rest string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}` + rest + `}`
	}
	large := func(name string) string { return config(name, ","+data) }
	for _, tt := range []struct {
		rule, name, method, path, contentType, body string
	}{
		{"created", "created", "POST", path, "application/json", large("created")},
		{"updated", "updated", "PUT", path + "/updated", "application/json", large("updated")},
		{"patched", "patched", "PATCH", path + "/patched", "application/merge-patch+json", "{" + data + "}"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if tt.method != "POST" {
				c.must("POST", path, config(tt.name, ""))
			}
			a := c.do(tt.method, tt.path, http.Header{"Content-Type": {tt.contentType}}, tt.body)
			if a.code >= 300 {
				t.Fatalf("code %d: %.300s", a.code, a.body)
			}
			stored := gjson.Parse(c.must("GET", path+"/"+tt.name, ""))
			expect(t, "keys", len(stored.Get("data").Map()), 10001)
			expect(t, "managedFields", stored.Get("metadata.managedFields").Raw, "")

			// An apply is nothing without them, and is refused.
			a = c.do("PATCH", path+"/"+tt.name+"?fieldManager=test", http.Header{"Content-Type": {"application/apply-patch+yaml"}}, config(tt.name, ""))
			expect(t, "code of an apply", a.code, 500)
			expect(t, "message of an apply", statusOf(t, a).Message, "etcdserver: request is too large")
		})
	}
}
