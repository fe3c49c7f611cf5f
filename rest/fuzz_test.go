package rest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/store"
)

// answered checks what every answer must be: no panic, and a Status with every
// refusal that is not a plain 404. (A refusal of the method or of the media type
// carries one as well.)
func answered(t *testing.T, a answer, request string) {
	t.Helper()
	switch {
	case strings.Contains(a.body, "apiserver to panic"):
		t.Fatalf("panic: %s", request)
	case a.code < 400, a.code == http.StatusNotFound && a.body == "404 page not found\n", a.body == "":
		return
	}
	var status struct {
		Kind string
		Code int
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal([]byte(a.body), &status); err != nil || status.Kind != "Status" || status.Code != a.code {
			t.Fatalf("%s: %d with no Status of its code: %.300s", request, a.code, a.body)
		}
	}
	if a.code == http.StatusInternalServerError && strings.Contains(a.body, "runtime error") {
		t.Fatalf("%s: %s", request, a.body)
	}
}

// quiet keeps the log of refused bodies out of a fuzzer's way.
func quiet(f *testing.F) {
	klog.LogToStderr(false)
	f.Cleanup(func() { klog.LogToStderr(true) })
}

// FuzzDefinition sends bodies as definitions, and uses those that are taken.
func FuzzDefinition(f *testing.F) {
	quiet(f)
	for _, name := range []string{"widgets", "planets", "moons"} {
		f.Add([]byte(definition(f, name)), false)
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self.a > 1","message":"m"}],"properties":{"a":{"type":"integer","default":1}}}}}`,
		`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true}}}`,
	} {
		f.Add([]byte(strings.Replace(definition(f, "planets"), `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, schema, 1)), false)
	}
	f.Add([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\nspec: {group: b.c}"), true)
	for i, s := range conformanceSeeds(f) {
		if group, resource := s.resource(); group == "apiextensions.k8s.io" && resource == "customresourcedefinitions" && s.Method == "POST" && some(i) {
			f.Add(s.body(), strings.HasSuffix(s.ContentType, "yaml"))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, yaml bool) {
		header := jsonBody
		if yaml {
			header = http.Header{"Content-Type": {"application/yaml"}}
		}
		inOneSecond(t, func() bool { return defineAndUse(t, startInProcess(t), definitionsPath, header, body) })
	})
}

// FuzzLegacyDefinition sends bodies as definitions in v1beta1, and uses those that
// are taken.
func FuzzLegacyDefinition(f *testing.F) {
	quiet(f)
	for _, spec := range []string{
		`"version":"v1"`,
		`"version":"v1","validation":{"openAPIV3Schema":{"properties":{"spec":{"required":["a"],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"text"}]}}}}}}`,
		`"version":"v1","validation":{"openAPIV3Schema":{"$schema":"x","properties":{"l":{"type":"array","items":{"properties":{"k":{}}}}}}}`,
		`"version":"v1","preserveUnknownFields":false,"validation":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}}}`,
		`"version":"v1","subresources":{"status":{},"scale":{"specReplicasPath":".spec.a","statusReplicasPath":".status.a"}},"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".spec.a"}]`,
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"additionalProperties":{"nullable":true}}}},{"name":"v2","served":true,"storage":false,"schema":{}}]`,
		`"version":"v1","preserveUnknownFields":false,"validation":{"openAPIV3Schema":{"type":"object"}},"conversion":{"strategy":"Webhook","webhookClientConfig":{"service":{"namespace":"a","name":"b"}}}`,
	} {
		f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},` +
			`"spec":{"group":"example.com","names":{"plural":"things","kind":"Thing"},` + spec + `}}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		inOneSecond(t, func() bool {
			c := startInProcess(t, func(o *options, _ *store.Options) { o.LegacyAPIs = true })
			return defineAndUse(t, c, strings.Replace(definitionsPath, "/v1/", "/v1beta1/", 1), jsonBody, body)
		})
	})
}

// inOneSecond tries again, with a cluster of its own each time, until the clock has not gone on to another second between what is compared.
func inOneSecond(t *testing.T, try func() (compared bool)) {
	t.Helper()
	for range 10 {
		if try() {
			return
		}
	}
	t.Fatal("each of ten tries took more than a second")
}

// defineAndUse sends a definition, and if it is taken objects of it. It reports whether a PUT of what there is could be compared: if the PUT comes in another
// second, it may renew the time of a manager, and the managers are ordered by their times.
func defineAndUse(t *testing.T, c *cluster, path string, header http.Header, body []byte) (compared bool) {
	second := time.Now().Unix()
	a := c.serve("POST", path, header, body)
	answered(t, a, string(body))
	if a.code != http.StatusCreated {
		return true
	}
	var made struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group    string
			Names    struct{ Plural, Kind string }
			Versions []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(a.body), &made); err != nil {
		t.Fatal(err)
	}
	for _, v := range made.Spec.Versions {
		gv := made.Spec.Group + "/" + v.Name
		for _, path := range []string{"/apis/" + gv + "/" + made.Spec.Names.Plural, "/apis/" + gv + "/namespaces/default/" + made.Spec.Names.Plural} {
			object := []byte(`{"apiVersion":"` + gv + `","kind":"` + made.Spec.Names.Kind + `","metadata":{"name":"a"},"spec":{"a":1},"l":[{"k":"x"},{"k":"x"}],"e":{}}`)
			answered(t, c.serve("POST", path, jsonBody, object), "POST "+path)
			answered(t, c.serve("GET", path+"/a", nil, nil), "GET "+path)
			answered(t, c.serve("PATCH", path+"/a", http.Header{"Content-Type": {"application/merge-patch+json"}}, []byte(`{"spec":{"a":"2"},"status":{"a":2},"l":[{"k":"x"}]}`)), "PATCH "+path)
			answered(t, c.serve("PATCH", path+"/a/status", http.Header{"Content-Type": {"application/merge-patch+json"}}, []byte(`{"status":{"a":3}}`)), "PATCH status of "+path)
			answered(t, c.serve("GET", path, nil, nil), "GET "+path)
		}
		answered(t, c.serve("GET", "/apis/"+gv, nil, nil), "GET "+gv)
	}
	name := "/" + made.Metadata.Name
	for _, path := range []string{path, definitionsPath} {
		seen := c.serve("GET", path+name, nil, nil)
		answered(t, seen, "GET "+path+name)
		again := c.serve("PUT", path+name, jsonBody, []byte(seen.body))
		answered(t, again, "PUT "+path+name)
		if time.Now().Unix() != second {
			return false
		}
		if again.code != http.StatusOK || again.body != seen.body {
			t.Fatalf("PUT of what there is at %s: %d\n%s\nwas\n%s", path+name, again.code, again.body, seen.body)
		}
	}
	answered(t, c.serve("DELETE", path+name, nil, nil), "DELETE "+made.Metadata.Name)
	return true
}

// richDefinition has something of everything that looks into objects.
const richDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"riches.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"riches","kind":"Rich"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"selectableFields":[{"jsonPath":".spec.s"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"!has(self.i) || self.i < 100"},{"rule":"!has(self.m) || self.m.all(k, self.m[k] > 0)"}],"properties":{"s":{"type":"string","maxLength":10,"pattern":"^[a-z]*$"},"i":{"type":"integer","default":3},"n":{"type":"number"},"m":{"type":"object","maxProperties":5,"additionalProperties":{"type":"integer"}},"l":{"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string","maxLength":5},"v":{"type":"integer","nullable":true}}}},"set":{"type":"array","maxItems":5,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":5}},"ios":{"x-kubernetes-int-or-string":true},"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"t":{"type":"string","format":"date-time"}}},"status":{"type":"object","properties":{"ready":{"type":"boolean"}}}}}}}]}}`

// FuzzObject sends bodies as objects of a rich schema: a create, then an update
// of one that is there, then reads.
func FuzzObject(f *testing.F) {
	quiet(f)
	for _, spec := range []string{
		`{}`, `{"s":"a","i":1,"n":1.5,"m":{"a":1},"l":[{"k":"a","v":null}],"set":["x"],"ios":"x","any":{"x":[1]},"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}},"t":"2020-01-01T00:00:00Z"}`,
		`{"i":"x","l":[{"k":"a"},{"k":"a"}],"set":["x","x"],"m":{"a":0}}`, `null`, `[]`, `{"i":1e400}`,
	} {
		f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Rich","metadata":{"name":"a","labels":{"a":"b"},"finalizers":["x"]},"spec":`+spec+`,"status":{"ready":true}}`), false, "Strict")
	}
	f.Add([]byte("apiVersion: example.com/v1\nkind: Rich\nmetadata: {generateName: a}\nspec: {i: 1, i: 2, x: 3}"), true, "Warn")
	f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Rich","metadata":{"name":"a","ownerReferences":[{}],"managedFields":[{"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]}}`), false, "Ignore")
	base := startInProcess(f)
	if a := base.serve("POST", definitionsPath, jsonBody, []byte(richDefinition)); a.code != http.StatusCreated {
		f.Fatal(a.body)
	}
	f.Fuzz(func(t *testing.T, body []byte, yaml bool, validation string) {
		c := base.fork(t)
		const path = "/apis/example.com/v1/riches"
		query := "?fieldValidation=" + url.QueryEscape(validation)
		header := jsonBody
		if yaml {
			header = http.Header{"Content-Type": {"application/yaml"}}
		}
		answered(t, c.serve("POST", path, header, body), "POST "+string(body))
		c.serve("POST", path, jsonBody, []byte(`{"apiVersion":"example.com/v1","kind":"Rich","metadata":{"name":"a"}}`))
		answered(t, c.serve("PUT", path+"/a"+query, header, body), "PUT "+string(body))
		answered(t, c.serve("PUT", path+"/a/status"+query, header, body), "PUT status "+string(body))
		for _, read := range []string{path + "/a", path, path + "?fieldSelector=spec.s%3Da"} {
			for _, accept := range []string{"application/json", "application/yaml"} {
				a := c.serve("GET", read, http.Header{"Accept": {accept}}, nil)
				answered(t, a, "GET "+read)
				if accept == "application/json" && !json.Valid([]byte(a.body)) {
					t.Fatalf("after %q, GET %s is not JSON: %s", body, read, a.body)
				}
			}
		}
		answered(t, c.serve("DELETE", path+"/a", header, body), "DELETE "+string(body))
	})
}

// FuzzPatch sends bodies as patches of each type: to an object of a rich
// schema and to a ConfigMap, to what is there, to what is not and to a status.
func FuzzPatch(f *testing.F) {
	quiet(f)
	types := []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"}
	for _, body := range []string{
		`[{"op":"add","path":"/spec/m/b","value":2},{"op":"test","path":"/spec/s","value":"a"},{"op":"move","from":"/spec/l/0","path":"/spec/l/-"},{"op":"copy","from":"/spec","path":"/spec/any"},{"op":"remove","path":"/data/a"},{"op":"replace","path":"","value":null}]`,
		`[{"op":"remove","path":"/metadata/managedFields/0/fieldsV1"}]`, `[{"op":"add","path":"/spec/l/99999999999","value":{}}]`, `[]`, `[null]`,
		`{"spec":{"s":null,"i":7,"l":[{"k":"b"}],"any":{"x":{"y":null}}},"data":{"a":null,"b":"c"},"metadata":{"resourceVersion":"1"}}`,
		`{"data":{"$patch":"replace","c":"d"},"metadata":{"finalizers":["x/y"],"$deleteFromPrimitiveList/finalizers":["x/y"],"$setElementOrder/finalizers":["x/y"],"$retainKeys":["name"]}}`,
		`{"$patch":"delete"}`, `{"metadata":{"managedFields":[{}]}}`, `null`, `{"metadata":null}`, `{"apiVersion":{},"kind":[]}`,
		"apiVersion: example.com/v1\nkind: Rich\nmetadata: {name: a}\nspec: {s: b, l: [{k: a, v: 2}, {k: c}], set: [x, x], m: {a: 5}}\nstatus: {ready: true}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [x/y]}\ndata: {a: b, c: d}\nbinaryData: {e: AA==}",
	} {
		for i := range types {
			f.Add(byte(i), []byte(body), i%2 == 0)
		}
	}
	for i, s := range conformanceSeeds(f) {
		if kind := slices.Index(types, s.ContentType); kind >= 0 && s.Method == "PATCH" && some(i) {
			f.Add(byte(kind), s.body(), strings.Contains(s.Target, "force=true"))
		}
	}
	base := startInProcess(f)
	const riches, configMaps = "/apis/example.com/v1/riches", "/api/v1/namespaces/default/configmaps"
	for _, made := range []struct{ path, body string }{
		{definitionsPath, richDefinition},
		{riches, `{"apiVersion":"example.com/v1","kind":"Rich","metadata":{"name":"a"},"spec":{"s":"a","l":[{"k":"a","v":1},{"k":"b"}],"set":["x"],"m":{"a":1},"any":{"x":{"y":[1]}}}}`},
		{configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}`},
	} {
		if a := base.serve("POST", made.path, jsonBody, []byte(made.body)); a.code != http.StatusCreated {
			f.Fatal(a.body)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte, force bool) {
		c := base.fork(t)
		contentType := types[int(kind)%len(types)]
		header := http.Header{"Content-Type": {contentType}}
		query := ""
		if contentType == "application/apply-patch+yaml" {
			query = "?fieldManager=fuzz"
			if force {
				query += "&force=true"
			}
		}
		for _, path := range []string{riches + "/a", configMaps + "/a"} {
			before := c.serve("GET", path, nil, nil)
			a := c.serve("PATCH", path+query, header, body)
			answered(t, a, contentType+" "+string(body))
			after := c.serve("GET", path, nil, nil)
			switch {
			case !json.Valid([]byte(after.body)):
				t.Fatalf("after %s %q, GET %s is not JSON: %s", contentType, body, path, after.body)
			case a.code >= 400 && after.body != before.body:
				t.Fatalf("%s %q was refused with %d and left something behind:\n%s\n%s", contentType, body, a.code, before.body, after.body)
			}
			answered(t, c.serve("PATCH", path+query, header, body), "again "+contentType+" "+string(body))
		}
		answered(t, c.serve("PATCH", riches+"/a/status"+query, header, body), "status "+contentType+" "+string(body))
		answered(t, c.serve("PATCH", riches+"/missing"+query, header, body), "missing "+contentType+" "+string(body))
	})
}

// FuzzRequest sends requests with any path, query and headers.
func FuzzRequest(f *testing.F) {
	quiet(f)
	for _, target := range []string{
		"/apis/example.com/v1/namespaces/default/widgets?limit=1&continue=x", "/api/v1/namespaces/default/status?pretty=1",
		"/apis/example.com/v1/widgets?resourceVersion=1&resourceVersionMatch=Exact&labelSelector=a+in+(b)", "/apis", "/apis//v1//", "//", "/api/v1/watch/namespaces",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com/status?fieldSelector=metadata.name=a&timeoutSeconds=-1&watch=0&dryRun=All",
		"/apis/example.com/v1/proxy/namespaces/x/widgets/a/status/b/c",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"} {
			f.Add(method, target, "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json")
		}
	}
	// A profile takes as long as its request says.
	base := startInProcess(f, func(o *options, _ *store.Options) { o.WithoutProfiling = true })
	base.serve("POST", definitionsPath, jsonBody, []byte(definition(f, "widgets")))
	f.Add("GET", "/apis/example.com/v1/widgets?a b", "*/*", "") // no HTTP server would hand it on
	for _, query := range []string{
		"labelSelector=a%20in%20(b,c),!d,e!%3Df,g%3E1", "labelSelector=,", "fieldSelector=metadata.name%3Da,metadata.namespace!%3Db", "fieldSelector=spec.color%3D%5C,",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0&limit=1", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTUsInN0YXJ0IjoiLi4vYSJ9",
		"resourceVersion=9223372036854775808&resourceVersionMatch=Exact", "limit=-1", "sendInitialEvents=true", "timeout=-1s", "pretty=x&dryRun=All&dryRun=x", "fieldValidation=x&fieldManager=%00",
		"gracePeriodSeconds=9223372036854775807&propagationPolicy=Orphan&orphanDependents=x",
	} {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			f.Add(method, widgetsPath+"?"+query, "application/json", "application/json")
		}
	}
	for i, s := range conformanceSeeds(f) {
		if some(i) {
			f.Add(s.Method, s.Target, s.Accept, s.ContentType)
		}
	}
	f.Fuzz(func(t *testing.T, method, target, accept, contentType string) {
		u, ok := handedOn(method, target)
		if !ok {
			t.Skip("no HTTP server would hand it on")
		}
		c := base.fork(t)
		sent := http.Header{"Accept": {accept}, "Content-Type": {contentType}}
		if endless(u) {
			c.begin(method, target, sent)
			return
		}
		if waits(u) {
			target = strings.Replace(target, "?", "?timeout=1ms&", 1)
		}
		answered(t, c.serve(method, target, sent, []byte(widget("a"))), method+" "+target)
	})
}

// FuzzProtobuf sends bodies as protobuf of built-in kinds: a create, an update, reads.
func FuzzProtobuf(f *testing.F) {
	quiet(f)
	kinds := []struct{ path, name string }{
		{"/api/v1/namespaces/default/configmaps", "ConfigMap"}, {"/api/v1/namespaces/default/pods", "Pod"},
		{"/apis/apps/v1/namespaces/default/deployments", "Deployment"}, {"/api/v1/namespaces/default/services", "Service"},
		{"/apis/apps/v1/namespaces/default/controllerrevisions", "ControllerRevision"},
		{"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "Role"},
		{"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "NetworkPolicy"},
		{"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "HorizontalPodAutoscaler"},
		{"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "ResourceClaim"},
		{"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
	}
	base := startInProcess(f)
	for i, body := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"a":"b"}},"data":{"a":"b"},"binaryData":{"c":"AA=="}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":"100m"}}}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}},"strategy":{"rollingUpdate":{"maxSurge":1}}}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80,"targetPort":"http"}]}}`,
		`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},"revision":1,"data":{"a":"b"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"a"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["b"]}]}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a"},"spec":{"podSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},"ingress":[{"ports":[{"port":"http","endPort":null}],"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}]}}`,
		`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"a","apiVersion":"apps/v1"},"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"100m"}}}],"behavior":{"scaleUp":{"policies":[{"type":"Pods","value":4,"periodSeconds":60}]}}}}`,
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c","selectors":[{"cel":{"expression":"device.driver == 'a'"}}]}}],"config":[{"opaque":{"driver":"a","parameters":{"a":1}}}]}}}`,
		`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"a"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]},"validations":[{"expression":"object.metadata.name != 'x'"}]}}`,
	} {
		a := base.serve("POST", kinds[i].path+"?dryRun=All", http.Header{"Content-Type": {"application/json"}, "Accept": {"application/vnd.kubernetes.protobuf"}}, []byte(body))
		if a.code != http.StatusCreated {
			f.Fatal(a.body)
		}
		f.Add(byte(i), []byte(a.body))
		f.Add(byte(i+1), []byte(a.body))
		f.Add(byte(i), []byte(a.body[:len(a.body)/2]))
		// An int-or-string that is neither made the server panic.
		f.Add(byte(i), []byte(strings.Replace(a.body, "\x08\x00\x10\x01\x1a\x00", "\x08\x02\x10\x01\x1a\x00", 1)))
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		c := base.fork(t)
		target := kinds[int(kind)%len(kinds)]
		header := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}, "Accept": {"application/json"}}
		answered(t, c.serve("POST", target.path, header, body), "POST "+target.name)
		answered(t, c.serve("PUT", target.path+"/a", header, body), "PUT "+target.name)
		for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
			a := c.serve("GET", target.path, http.Header{"Accept": {accept}}, nil)
			// YAML has no control characters, and a real server fails in the same way.
			if a.code != http.StatusOK && !strings.Contains(a.body, "control characters are not allowed") {
				t.Fatalf("after %q, a list as %s: %d %s", body, accept, a.code, a.body)
			}
		}
	})
}

// FuzzPolicy sends bodies as policies, bindings and webhooks, and writes under those that are
// taken.
func FuzzPolicy(f *testing.F) {
	quiet(f)
	const group = "/apis/admissionregistration.k8s.io/v1/"
	paths := []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "validatingwebhookconfigurations"}
	const rules = `"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]`
	for _, expression := range []string{"object.metadata.name != 'x'", "size(object.spec) > 1 || has(oldObject.spec)", "[1,2].all(i, i > 0)", "authorizer.group('').resource('pods').check('get').allowed()", "variables.a == 1", "quantity('1k') == quantity('1000')", "a"} {
		f.Add(byte(0), []byte(`{"metadata":{"name":"a"},"spec":{"failurePolicy":"Fail","matchConstraints":{`+rules+`},"variables":[{"name":"a","expression":"1"}],"matchConditions":[{"name":"m","expression":"true"}],"auditAnnotations":[{"key":"k","valueExpression":"'v'"}],"validations":[{"expression":"`+expression+`","messageExpression":"'m'"}]}}`))
	}
	f.Add(byte(1), []byte(`{"metadata":{"name":"a"},"spec":{"policyName":"a","validationActions":["Deny","Audit"],"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}}}`))
	f.Add(byte(2), []byte(`{"metadata":{"name":"a"},"spec":{"matchConstraints":{`+rules+`},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"}}]}}`))
	f.Add(byte(2), []byte(`{"metadata":{"name":"a"},"spec":{"matchConstraints":{`+rules+`},"reinvocationPolicy":"IfNeeded","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}}]}}`))
	f.Add(byte(4), []byte(`{"metadata":{"name":"a"},"webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://127.0.0.1:1/"},"sideEffects":"None","timeoutSeconds":1,"admissionReviewVersions":["v1"],"matchConditions":[{"name":"a","expression":"false"}],"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]}]}`))
	for i, s := range conformanceSeeds(f) {
		if group, resource := s.resource(); group == "admissionregistration.k8s.io" && slices.Contains(paths, resource) && s.Method == "POST" && some(i) {
			f.Add(byte(slices.Index(paths, resource)), s.body())
		}
	}
	base := startInProcess(f)
	if a := base.serve("POST", definitionsPath, jsonBody, []byte(definition(f, "widgets"))); a.code != http.StatusCreated {
		f.Fatal(a.body)
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		c := base.fork(t)
		path := paths[int(kind)%len(paths)]
		a := c.serve("POST", group+path, jsonBody, body)
		answered(t, a, "POST "+path+" "+string(body))
		if a.code != http.StatusCreated {
			return
		}
		for _, bindings := range []string{paths[1], paths[3]} {
			c.serve("POST", group+bindings, jsonBody, []byte(`{"metadata":{"name":"b"},"spec":{"policyName":"a","validationActions":["Deny"]}}`))
		}
		answered(t, c.serve("POST", widgetsPath+"?timeout=5s", jsonBody, []byte(widget("a"))), "a widget under "+string(body))
		answered(t, c.serve("POST", "/api/v1/namespaces/default/configmaps?timeout=5s", jsonBody, []byte(`{"metadata":{"name":"a"},"data":{"a":"b"}}`)), "a ConfigMap under "+string(body))
		answered(t, c.serve("GET", group+path, nil, nil), "GET "+path)
	})
}
