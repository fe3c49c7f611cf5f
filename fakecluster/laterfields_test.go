package fakecluster_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestLaterFields runs in a process of each version. A server does not know the fields that came with a later one.
func TestLaterFields(t *testing.T) {
	minor := 37
	if _, text, older := strings.Cut(os.Getenv(versionVariable), "1."); older {
		var err error
		minor, err = strconv.Atoi(text)
		must(t, err)
	}
	warnings := &warned{}
	c := fakecluster.Start(t, fakecluster.InProcess())
	cfg := c.RESTConfig()
	cfg.WarningHandler = warnings
	client := kubernetes.NewForConfigOrDie(cfg).RESTClient()
	const (
		hpas    = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
		drivers = "/apis/storage.k8s.io/v1/csidrivers"
		pods    = "/api/v1/namespaces/default/pods"
	)
	must(t, client.Post().AbsPath(hpas).Body([]byte(`{"metadata":{"name":"a"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"},"maxReplicas":2}}`)).Do(t.Context()).Error())
	for _, test := range []struct {
		field string
		since int    // the minor version that it came with
		kept  bool   // it is kept since then, and not dropped by a feature gate
		verb  string // PATCH: a merge patch
		path  string
		body  string
	}{
		{"status.conditions[0].observedGeneration", 37, true, "PATCH", hpas + "/a/status",
			`{"status":{"desiredReplicas":1,"currentMetrics":null,"conditions":[{"type":"AbleToScale","status":"True","observedGeneration":3}]}}`},
		{"spec.schedulingGroup", 36, false, "POST", pods, `{"metadata":{"name":"a"},"spec":{"schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"a","image":"a"}]}}`},
		{"spec.serviceAccountTokenInSecrets", 35, true, "POST", drivers,
			`{"metadata":{"name":"a.example.com"},"spec":{"tokenRequests":[{"audience":"a"}],"serviceAccountTokenInSecrets":true}}`},
	} {
		request := func(validation string) rest.Result {
			r := client.Verb(test.verb)
			if test.verb == "PATCH" {
				r = client.Patch(types.MergePatchType)
			}
			return r.AbsPath(test.path).Param("fieldValidation", validation).Body([]byte(test.body)).Do(t.Context())
		}
		complaint := `unknown field "` + test.field + `"`
		if minor < test.since {
			err := request("Strict").Error()
			if err == nil || !strings.HasSuffix(strings.TrimSuffix(err.Error(), "\n"), "strict decoding error: "+complaint) || !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
				t.Errorf("%s, Strict: %v", test.field, err)
			}
		}
		*warnings = nil
		answer, err := request("Warn").Raw()
		must(t, err)
		equal(t, test.field+": warned", slices.Contains(*warnings, complaint), minor < test.since)
		path := strings.NewReplacer("[0]", ".0").Replace(test.field)
		equal(t, test.field+": kept", gjson.GetBytes(answer, path).Exists(), test.kept && minor >= test.since)
	}

	err := client.Patch(types.ApplyYAMLPatchType).AbsPath(pods+"/b").Param("fieldManager", "m").
		Body([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"a","image":"a"}]}}`)).Do(t.Context()).Error()
	if minor < 36 {
		const want = `failed to create typed patch object (/b; /v1, Kind=Pod): .spec.schedulingGroup: field not declared in schema`
		if err == nil || err.Error() != want {
			t.Errorf("apply: %v, want %s", err, want)
		}
	} else {
		must(t, err)
	}

	for path, definition := range map[string]string{"/openapi/v3/api/v1": "components.schemas", "/openapi/v2": "definitions"} {
		text, err := client.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
		must(t, err)
		spec := gjson.GetBytes(text, definition+`.io\.k8s\.api\.core\.v1\.PodSpec.properties`)
		equal(t, path+": an old field", spec.Get("nodeName").Exists(), true)
		equal(t, path+": a field of 1.36", spec.Get("schedulingGroup").Exists(), minor >= 36)
		equal(t, path+": a field of 1.37", spec.Get("evictionResponders").Exists(), minor >= 37)
		equal(t, path+": a type that only a field of 1.36 refers to", gjson.GetBytes(text, definition+`.io\.k8s\.api\.core\.v1\.PodSchedulingGroup`).Exists(), minor >= 36)
	}

	var list struct{ Resources []struct{ Name string } }
	text, err := client.Get().AbsPath("/apis/storage.k8s.io/v1").Do(t.Context()).Raw()
	must(t, err)
	must(t, json.Unmarshal(text, &list))
	names := map[string]bool{}
	for _, r := range list.Resources {
		names[r.Name] = true
	}
	equal(t, "an old resource", names["csinodes"], true)
	equal(t, "a subresource of 1.37", names["csinodes/status"], minor >= 37)
}

// warned collects warnings.
type warned []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warned) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }
