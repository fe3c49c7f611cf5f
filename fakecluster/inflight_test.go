package fakecluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// TestCopiesCompleteWhatIsInFlight sends requests to a cluster. It forks the cluster, and restores it from a snapshot,
// before each write that the server or a controller makes because of a request. Each copy must end where the cluster
// ends, or where it began, if the copy lacks the write of the client too. With -short there are only forks.
func TestCopiesCompleteWhatIsInFlight(t *testing.T) {
	o := newOrigin(t)
	for _, q := range inFlightRequests {
		o.send(q)
	}
}

// inFlightRequest is a request and its body. $(owner) in a body is the uid of the CronTab owner.
type inFlightRequest struct{ verb, path, body string }

var inFlightRequests = []inFlightRequest{
	// The condition Dangling of FlowSchemas.
	{"POST", flowControl + "/flowschemas", `{"metadata":{"name":"mine"},"spec":{"priorityLevelConfiguration":{"name":"level"},"matchingPrecedence":9000}}`},
	{"POST", flowControl + "/prioritylevelconfigurations", `{"metadata":{"name":"level"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,"limitResponse":{"type":"Reject"}}}}`},
	{"DELETE", flowControl + "/prioritylevelconfigurations/level", ""},

	// Objects that the server creates again.
	{"DELETE", flowControl + "/flowschemas/probes", ""},
	{"DELETE", "/api/v1/namespaces/default/services/kubernetes", ""},
	{"DELETE", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes", ""},
	{"DELETE", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", ""},
	{"DELETE", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", ""},
	{"DELETE", "/api/v1/namespaces/default/serviceaccounts/default", ""},

	// Definitions and APIServices.
	{"POST", crdPath, `{"metadata":{"name":"` + definition + `"},"spec":{"group":"` + group + `","scope":"Namespaced",
		"names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList","shortNames":["ct"]},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`},
	{"PATCH", crdPath + "/" + definition, `{"spec":{"names":{"shortNames":["ct","cr"]}}}`},
	{"PATCH", crdPath + "/" + definition + "/status", `{"status":{"acceptedNames":{"shortNames":["other"]}}}`},
	{"PATCH", apiServicePath + "/v1." + group, `{"spec":{"groupPriorityMinimum":7}}`},
	{"DELETE", apiServicePath + "/v1." + group, ""},
	{"POST", apiServicePath, `{"metadata":{"name":"v9.local.example.com"},"spec":{"group":"local.example.com","version":"v9","groupPriorityMinimum":9,"versionPriority":9}}`},
	{"POST", apiServicePath, `{"metadata":{"name":"v9.remote.example.com"},"spec":{"group":"remote.example.com","version":"v9","groupPriorityMinimum":9,"versionPriority":9,
		"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"remote"}}}`},
	{"POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"remote"},"spec":{"ports":[{"port":443}]}}`},

	// The addresses of Services.
	{"DELETE", "/api/v1/namespaces/default/services/remote", ""},
	{"POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":443}]}}`},
	{"PATCH", "/api/v1/namespaces/default/services/s", `{"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":null,"clusterIPs":null,"ports":null}}`},

	// Garbage collection and quotas. The last owner is gone together with its kind.
	{"POST", "/api/v1/namespaces/default/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"9","count/` + definition + `":"5"}}}`},
	{"POST", cronTabPath, cronTabOwner}, {"POST", configMapPath, ownedConfigMap("a")}, {"POST", configMapPath, ownedConfigMap("b")},
	{"DELETE", cronTabPath + "/owner", `{"propagationPolicy":"Foreground"}`},
	{"POST", cronTabPath, cronTabOwner}, {"POST", configMapPath, ownedConfigMap("a")}, {"POST", configMapPath, ownedConfigMap("b")},
	{"DELETE", cronTabPath + "/owner", `{"propagationPolicy":"Orphan"}`},
	{"POST", cronTabPath, cronTabOwner}, {"POST", configMapPath, ownedConfigMap("c")}, {"POST", configMapPath, ownedConfigMap("d")},
	{"DELETE", crdPath + "/" + definition, ""},

	// A namespace with a Pod.
	{"POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`},
	{"POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"DELETE", "/api/v1/namespaces/ns", ""},

	// Others.
	{"POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"r","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"rules":[{"apiGroups":["x"],"resources":["y"],"verbs":["get"]}]}`},
	{"POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{"validations":[{"expression":"object.x == 1"}],
		"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`},
}

const (
	flowControl    = "/apis/flowcontrol.apiserver.k8s.io/v1"
	crdPath        = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices"
	cronTabPath    = "/apis/" + group + "/v1/namespaces/default/crontabs"
	configMapPath  = "/api/v1/namespaces/default/configmaps"
	cronTabOwner   = `{"apiVersion":"` + group + `/v1","kind":"CronTab","metadata":{"name":"owner"}}`
)

func ownedConfigMap(name string) string {
	return `{"metadata":{"name":"` + name + `","ownerReferences":[{"apiVersion":"` + group + `/v1","kind":"CronTab","name":"owner","uid":"$(owner)","blockOwnerDeletion":true}]}}`
}

// origin is a cluster that is copied before each write of the server and of its controllers while armed is true.
type origin struct {
	*fakecluster.Cluster
	t       *testing.T
	options []fakecluster.Option
	armed   bool
	copies  []inFlightCopy
}

// inFlightCopy is a copy that was made before a write.
type inFlightCopy struct {
	*fakecluster.Cluster
	name string
}

func newOrigin(t *testing.T) *origin {
	o := &origin{t: t, options: []fakecluster.Option{fakecluster.InProcess(), fakecluster.WithControllers(fakecluster.AllControllers()...)}}
	o.Cluster = fakecluster.Start(t, append(o.options[:2:2], fakecluster.WithAdmission(nil, func(_ context.Context, r *fakecluster.AdmissionRequest) error {
		if !o.armed || !strings.HasPrefix(r.UserInfo.Username, "system:") {
			return nil
		}
		o.armed = false // the function is also called for the writes of the fork
		defer func() { o.armed = true }()
		o.copy(fmt.Sprintf("%s %s %s %s/%s", r.UserInfo.Username, r.Operation, r.Resource.Resource, r.Namespace, r.Name))
		return nil
	}))...)
	return o
}

// copy forks the cluster, and restores it from a snapshot, before a write.
func (o *origin) copy(write string) {
	fork, err := o.NewFork()
	if err != nil {
		o.t.Errorf("fork before %s: %v", write, err)
		return
	}
	o.copies = append(o.copies, inFlightCopy{fork, "fork before " + write})
	if testing.Short() {
		return
	}
	var snapshot bytes.Buffer
	if err := o.Snapshot(&snapshot); err != nil {
		o.t.Errorf("snapshot before %s: %v", write, err)
		return
	}
	restored, err := fakecluster.New(append(o.options[:2:2], fakecluster.WithSnapshot(&snapshot))...)
	if err != nil {
		o.t.Errorf("snapshot before %s: %v", write, err)
		return
	}
	o.copies = append(o.copies, inFlightCopy{restored, "snapshot before " + write})
}

// send sends a request, and compares the copies that are made meanwhile with the cluster.
func (o *origin) send(q inFlightRequest) {
	o.t.Helper()
	body := q.body
	if strings.Contains(body, "$(owner)") {
		body = strings.ReplaceAll(body, "$(owner)", string(get(o.t, inDefault(o.Cluster), "owner").GetUID()))
	}
	contentType := "application/json"
	if q.verb == "PATCH" {
		contentType = string(types.MergePatchType)
	}
	before := contentOf(o.Cluster)
	o.armed = true
	err := o.Clientset().CoreV1().RESTClient().Verb(q.verb).AbsPath(q.path).SetHeader("Content-Type", contentType).Body([]byte(body)).Do(o.t.Context()).Error()
	o.armed = false
	if err != nil {
		o.t.Fatalf("%s %s: %v", q.verb, q.path, err)
	}
	after := contentOf(o.Cluster)
	for _, c := range o.copies {
		content := contentOf(c.Cluster)
		if diff := cmp.Diff(after, content); diff != "" && !cmp.Equal(before, content) {
			o.t.Errorf("%s %s: %s (-want +got):\n%s", q.verb, q.path, c.name, diff)
		}
		must(o.t, c.Close())
	}
	o.copies = nil
}

// contentOf returns the objects of a cluster by store key, without fields that differ between runs.
func contentOf(c *fakecluster.Cluster) map[string]any {
	content := map[string]any{}
	for _, r := range fakecluster.Records(c) {
		var object any
		if json.Unmarshal([]byte(r.Value), &object) == nil && !strings.HasPrefix(r.Key, "/registry/events/") {
			content[r.Key] = withoutTimes(object)
		}
	}
	return content
}

// withoutTimes removes the fields that differ between runs from a JSON value.
func withoutTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "managedFields", "lastTransitionTime"} {
			delete(value, field)
		}
		if value["deletionTimestamp"] != nil {
			value["deletionTimestamp"] = metav1.Time{}.String()
		}
		for field := range value {
			value[field] = withoutTimes(value[field])
		}
	case []any:
		for i := range value {
			value[i] = withoutTimes(value[i])
		}
	}
	return value
}
