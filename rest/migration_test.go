package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fakecluster/fakecluster/store"
)

// knobs is a definition whose storage version is the given one.
func knobs(storage string) string {
	var versions []string
	for _, name := range []string{"v1beta1", "v1"} {
		versions = append(versions, fmt.Sprintf(
			`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","properties":{"turns":{"type":"integer"}}}}}`,
			name, name == storage))
	}
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"knobs.example.com"},` +
		`"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"knobs","kind":"Knob"},"versions":[` + strings.Join(versions, ",") + `]}}`
}

// TestAMigrationAmongWriters changes the storage version and migrates while clients
// create, change and delete objects in both versions. Nothing is stored in the old
// version in the end, because storedVersions says so.
func TestAMigrationAmongWriters(t *testing.T) {
	c := startInProcess(t)
	send := func(method, path, body string, codes ...int) answer {
		header := http.Header{"Content-Type": {"application/json"}}
		if method == "PATCH" {
			header = http.Header{"Content-Type": {"application/merge-patch+json"}}
		}
		a := c.serve(method, path, header, []byte(body))
		for _, code := range codes {
			if a.code == code {
				return a
			}
		}
		t.Errorf("%s %s: %d %s", method, path, a.code, a.body)
		return a
	}
	collection := func(version string) string { return "/apis/example.com/" + version + "/namespaces/default/knobs" }
	knob := func(version string, name int) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Knob","metadata":{"name":"k%d"}}`, version, name)
	}
	send("POST", definitionsPath, knobs("v1beta1"), 201)
	const objects = 60
	for i := range objects {
		send("POST", collection("v1"), knob("v1", i), 201)
	}

	stop := make(chan struct{})
	var writers, writing sync.WaitGroup
	for w, version := range []string{"v1beta1", "v1"} {
		writing.Add(1)
		writers.Go(func() {
			for turn := 0; ; turn++ {
				if turn == 10 {
					writing.Done()
				}
				select {
				case <-stop:
					return
				default:
				}
				// The other half of the objects is left to the migration.
				i := (4*turn + w) % objects
				object := fmt.Sprintf("%s/k%d", collection(version), i)
				if turn%5 == 0 {
					send("DELETE", object, "", 200, 404)
					send("POST", collection(version), knob(version, i), 201, 409)
				} else {
					send("PATCH", object, fmt.Sprintf(`{"turns":%d}`, turn), 200, 404)
				}
			}
		})
	}
	writing.Wait()
	send("PATCH", definitionsPath+"/knobs.example.com", gjson.Get(knobs("v1"), "@this|{spec}").Raw, 200)
	send("POST", "/apis/storagemigration.k8s.io/v1/storageversionmigrations",
		`{"apiVersion":"storagemigration.k8s.io/v1","kind":"StorageVersionMigration","metadata":{"name":"m"},"spec":{"resource":{"group":"example.com","resource":"knobs"}}}`, 201)
	close(stop)
	writers.Wait()

	m := send("GET", "/apis/storagemigration.k8s.io/v1/storageversionmigrations/m", "", 200)
	expect(t, "the migration has succeeded", gjson.Get(m.body, `status.conditions.#(type=="Succeeded").status`).Str, "True")
	definition := send("GET", definitionsPath+"/knobs.example.com", "", 200)
	expect(t, "storedVersions", gjson.Get(definition.body, "status.storedVersions").Raw, `["v1"]`)
	stored, err := c.store.List("/registry/example.com/knobs/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Records) < objects/2 {
		t.Errorf("%d objects are stored, of %d", len(stored.Records), objects)
	}
	for _, record := range stored.Records {
		if version := gjson.Get(record.Value, "apiVersion").Str; version != "example.com/v1" {
			t.Errorf("%s is stored in %s", record.Key, version)
		}
	}
}
