package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/test/integration/etcd"
)

const (
	table       = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	partial     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// namespace is where the objects are that have one.
const namespace = "wire"

// Requests returns the requests for what the resource lists describe.
func Requests(lists []*metav1.APIResourceList) []Request {
	made := start() // the first group
	stubs := etcd.GetEtcdStorageDataForNamespace(namespace)
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			p := prober{gv: gv, resource: r, group: gv.String() + " " + r.Name, subresources: map[string][]string{}}
			for _, s := range list.APIResources {
				if name, sub, ok := strings.Cut(s.Name, "/"); ok && name == r.Name {
					p.subresources[sub] = s.Verbs
				}
			}
			stub, ok := stubs[gv.WithResource(r.Name)]
			if !ok { // another version has it
				for gvr, other := range stubs {
					if gvr.Group == gv.Group && gvr.Resource == r.Name {
						stub = other
					}
				}
			}
			p.stub = stub
			made = append(made, p.probe()...)
		}
	}
	return made
}

// start asks what is outside of the resources.
func start() []Request {
	var made []Request
	add := func(name, path string, header map[string]string) {
		made = append(made, Request{Group: "start", Name: name, Method: "GET", Path: path, Header: header})
	}
	made = append(made, Request{Group: "start", Name: "namespace", Method: "POST", Path: "/api/v1/namespaces", Body: `{"metadata":{"name":"` + namespace + `"}}`, Needed: true})
	for _, path := range []string{"/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/apps/v2", "/apis/nope", "/apis/nope/v1", "/apis/nope/v1/things", "/version", "/version/", "/nope",
		"/healthz", "/livez", "/readyz", "/healthz?verbose", "/livez?verbose", "/readyz?verbose", "/readyz/ping", "/readyz/nope", "/openapi", "/openapi/v3", "/openapi/v3/nope", "/metrics/nope",
		"/api/v1/nope", "/api/v1/namespaces/wire/nope", "/api/v1/namespaces/wire/nope/a", "/api/v2", "/api/v1/", "/apis/", "/logs", "/swagger.json", "/debug/pprof/symbol", "/statusz", "/flagz", "/.well-known/openid-configuration", "/openid/v1/jwks"} {
		add(path, path, nil)
	}
	v2 := map[string]string{"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
	add("aggregated /api", "/api", v2)
	add("aggregated /apis", "/apis", v2)
	add("yaml /version", "/version", map[string]string{"Accept": "application/yaml"})
	add("yaml /api/v1", "/api/v1", map[string]string{"Accept": "application/yaml"})
	add("unacceptable", "/api/v1/namespaces", map[string]string{"Accept": "text/html"})
	add("any", "/api/v1/namespaces/default", map[string]string{"Accept": "*/*"})
	add("quality", "/api/v1/namespaces/default", map[string]string{"Accept": "application/yaml;q=0.5,application/json;q=0.1"})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"} {
		for _, path := range []string{"/", "/api", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/healthz", "/openapi/v2", "/nope"} {
			made = append(made, Request{Group: "start", Name: method + " " + path, Method: method, Path: path, Body: map[bool]string{true: "{}"}[method != "HEAD" && method != "OPTIONS"]})
		}
	}
	return made
}

// prober makes the requests for one resource in one version.
type prober struct {
	gv           schema.GroupVersion
	resource     metav1.APIResource
	group        string
	stub         etcd.StorageData
	subresources map[string][]string

	requests []Request
}

func (p *prober) collection() string {
	base := "/apis/" + p.gv.String()
	if p.gv.Group == "" {
		base = "/api/" + p.gv.Version
	}
	if p.resource.Namespaced {
		base += "/namespaces/" + namespace
	}
	return base + "/" + p.resource.Name
}

// sequence names the objects that the requests create: all versions of a resource have the same ones, events are in two groups, a definition
// brings an APIService, and a Service an IPAddress.
func (p *prober) sequence() string {
	switch p.resource.Name {
	case "customresourcedefinitions":
		return "apiregistration.k8s.io apiservices"
	case "ipaddresses":
		return " services"
	case "events":
		return " events"
	}
	return p.gv.Group + " " + p.resource.Name
}

func (p *prober) can(verb string) bool { return slices.Contains(p.resource.Verbs, verb) }

func (p *prober) add(name, method, path, body string, header ...string) *Request {
	r := Request{Group: p.group, Sequence: p.sequence(), Name: name, Method: method, Path: path, Body: body}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header == nil {
			r.Header = map[string]string{}
		}
		r.Header[header[i]] = header[i+1]
	}
	p.requests = append(p.requests, r)
	return &p.requests[len(p.requests)-1]
}

func (p *prober) probe() []Request {
	c := p.collection()
	p.reads(c, "before")
	p.mistakes(c)
	if p.stub.Stub != "" && p.can("create") {
		p.life(c)
	}
	return p.requests
}

// reads lists the objects in every form.
func (p *prober) reads(c, when string) {
	for _, r := range [][2]string{{"list", "application/json"}, {"list as table", table}, {"list as partial", partialList}, {"list as yaml", "application/yaml"}} {
		p.add(r[0]+" "+when, "GET", c, "", "Accept", r[1])
	}
}

// mistakes are requests that a server refuses, or reads that find nothing.
func (p *prober) mistakes(c string) {
	one := c + "/missing"
	for _, accept := range [][2]string{{"", "application/json"}, {" as table", table}, {" as partial", partial}, {" as yaml", "application/yaml"}} {
		p.add("get missing"+accept[0], "GET", one, "", "Accept", accept[1])
	}
	for _, query := range []string{"labelSelector=a%3Db", "labelSelector=a%3D%3D%3Db", "labelSelector=a+in+(b,c),!d", "fieldSelector=metadata.name%3Dx", "fieldSelector=spec.nope%3Dx", "fieldSelector=%3D", "limit=1", "limit=-1", "limit=abc",
		"continue=garbage", "resourceVersion=abc", "resourceVersion=0", "resourceVersion=-1", "resourceVersion=99999999", "resourceVersion=1&resourceVersionMatch=Exact", "resourceVersionMatch=Exact", "resourceVersionMatch=Nope&resourceVersion=1",
		"timeoutSeconds=abc", "watch=true&timeoutSeconds=abc", "watch=true&resourceVersion=abc", "watch=true&sendInitialEvents=true", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "watch=true&fieldSelector=nope%3Dx", "sendInitialEvents=true", "pretty=true", "unknown=1"} {
		p.add("list ?"+query, "GET", c+"?"+query, "")
	}
	p.add("watch", "GET", c+"?watch=true&timeoutSeconds=1&labelSelector=none", "")
	p.add("get with resourceVersion", "GET", one+"?resourceVersion=99999999", "")
	p.add("get with a bad resourceVersion", "GET", one+"?resourceVersion=abc", "")

	kind, version := p.resource.Kind, p.gv.String()
	if p.resource.Group != "" || p.resource.Version != "" {
		version = schema.GroupVersion{Group: p.resource.Group, Version: p.resource.Version}.String()
	}
	head := fmt.Sprintf(`"apiVersion":%q,"kind":%q`, version, kind)
	bodies := [][2]string{
		{"nothing", ""}, {"an empty object", "{}"}, {"no JSON", "{"}, {"a list", "[]"}, {"null", "null"}, {"a number", "1"},
		{"only a type", "{" + head + "}"},
		{"only a name", "{" + head + `,"metadata":{"name":"a"}}`},
		{"a bad name", "{" + head + `,"metadata":{"name":"A_b/"}}`},
		{"only a prefix", "{" + head + `,"metadata":{"generateName":"a-"}}`},
		{"another namespace", "{" + head + `,"metadata":{"name":"a","namespace":"other"}}`},
		{"another kind", fmt.Sprintf(`{"apiVersion":%q,"kind":"Nope","metadata":{"name":"a"}}`, version)},
		{"another group", fmt.Sprintf(`{"apiVersion":"nope/v1","kind":%q,"metadata":{"name":"a"}}`, kind)},
		{"a resourceVersion", "{" + head + `,"metadata":{"name":"a","resourceVersion":"1"}}`},
		{"a spec that is text", "{" + head + `,"metadata":{"name":"a"},"spec":"x"}`},
		{"metadata that is text", "{" + head + `,"metadata":"x"}`},
		{"a label that is a number", "{" + head + `,"metadata":{"name":"a","labels":{"a":1}}}`},
		{"bad labels", "{" + head + `,"metadata":{"name":"a","labels":{"-a":"b/c"},"annotations":{"?":"x"},"finalizers":["x","?/y"],"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}}`},
		{"an unknown field", "{" + head + `,"metadata":{"name":"a","nope":1},"nope":{"a":1},"spec":{"nope":1}}`},
	}
	for _, b := range bodies {
		p.add("create of "+b[0], "POST", c+"?dryRun=All", b[1], "Content-Type", "application/json")
		p.add("update of "+b[0], "PUT", c+"/a?dryRun=All", b[1], "Content-Type", "application/json")
		p.add("apply of "+b[0], "PATCH", c+"/a?dryRun=All&fieldManager=m", b[1], "Content-Type", "application/apply-patch+yaml")
	}
	unknown := bodies[len(bodies)-1][1]
	for _, query := range []string{"fieldValidation=Strict", "fieldValidation=Warn", "fieldValidation=Nope", "dryRun=Nope", "fieldManager=" + strings.Repeat("m", 129), "fieldManager=%01", "force=true"} {
		p.add("create ?"+query, "POST", c+"?dryRun=All&"+query, unknown)
		p.add("update ?"+query, "PUT", c+"/a?dryRun=All&"+query, unknown)
		p.add("patch ?"+query, "PATCH", c+"/missing?dryRun=All&"+query, `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
		p.add("apply ?"+query, "PATCH", c+"/a?dryRun=All&"+query, unknown, "Content-Type", "application/apply-patch+yaml")
	}
	p.add("create as text", "POST", c, "x", "Content-Type", "text/plain")
	p.add("create without a type", "POST", c+"?dryRun=All", unknown, "Content-Type", "")
	p.add("create in yaml", "POST", c+"?dryRun=All&fieldValidation=Strict", "apiVersion: "+version+"\nkind: "+kind+"\nmetadata: {name: a, name: b}\nnope: 1\n", "Content-Type", "application/yaml")
	p.add("create in cbor", "POST", c+"?dryRun=All", "x", "Content-Type", "application/cbor")
	p.add("create in garbage protobuf", "POST", c+"?dryRun=All", "k8s\x00garbage", "Content-Type", "application/vnd.kubernetes.protobuf")
	for _, typ := range []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json", "application/nope"} {
		for _, body := range []string{`{"metadata":{"labels":{"a":"b"}}}`, `[{"op":"add","path":"/metadata/labels","value":{}}]`, `[{"op":"nope"}]`, `{`, ``} {
			p.add(strings.TrimSpace("patch missing, "+typ+" "+body), "PATCH", one+"?dryRun=All", body, "Content-Type", typ)
		}
	}
	p.add("put to the collection", "PUT", c, "{}")
	p.add("patch of the collection", "PATCH", c, "{}", "Content-Type", "application/merge-patch+json")
	p.add("post to one", "POST", one, "{}")
	p.add("options", "OPTIONS", c, "")
	p.add("head", "HEAD", c, "")
	p.add("trace", "TRACE", c, "")
	p.add("get with a longer path", "GET", one+"/nope", "")
	p.add("get with an even longer path", "GET", one+"/nope/nope", "")
	for _, body := range []string{"", "{}", `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["Nope"]}`, `{"propagationPolicy":"Nope"}`, `{"propagationPolicy":"Orphan","orphanDependents":true}`, `{"gracePeriodSeconds":-1}`, `{"preconditions":{"uid":"x"}}`, `{"kind":"Nope","apiVersion":"v1"}`, `{"nope":1}`, "{"} {
		p.add("delete missing with "+body, "DELETE", one, body)
		p.add("delete collection with "+body, "DELETE", c+"?dryRun=All&labelSelector=none", body)
	}
	p.add("delete collection ?fieldSelector", "DELETE", c+"?dryRun=All&fieldSelector=nope%3Dx", "")
	p.add("delete missing ?propagationPolicy", "DELETE", one+"?propagationPolicy=Nope", "")
	p.add("delete missing ?dryRun", "DELETE", one+"?dryRun=Nope", "")
	p.add("delete missing ?gracePeriodSeconds", "DELETE", one+"?gracePeriodSeconds=abc", "")
	for _, sub := range slices.Sorted(maps.Keys(p.subresources)) {
		p.add("get missing "+sub, "GET", one+"/"+sub, "")
		p.add("create missing "+sub, "POST", one+"/"+sub+"?dryRun=All", "{}")
		p.add("update missing "+sub, "PUT", one+"/"+sub+"?dryRun=All", "{"+head+`,"metadata":{"name":"missing"}}`)
		p.add("patch missing "+sub, "PATCH", one+"/"+sub+"?dryRun=All", "{}", "Content-Type", "application/merge-patch+json")
		p.add("delete missing "+sub, "DELETE", one+"/"+sub+"?dryRun=All", "")
	}
}

// life is what an object goes through, from its create to its end.
func (p *prober) life(c string) {
	var stub map[string]any
	if json.Unmarshal([]byte(p.stub.Stub), &stub) != nil {
		return
	}
	stub["apiVersion"], stub["kind"] = p.gv.String(), p.resource.Kind
	metadata, _ := stub["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		return
	}
	p.prerequisites()
	text, _ := json.Marshal(stub)
	body, one := string(text), c+"/"+name
	p.creates(c, one, body)
	p.reads(c, "with one")
	p.add("list by name", "GET", c+"?fieldSelector=metadata.name%3D"+name, "")
	p.updates(one)
	p.patches(one, body, name)
	for _, sub := range slices.Sorted(maps.Keys(p.subresources)) {
		p.subresource(sub, one+"/"+sub)
	}
	p.add("get after all", "GET", one, "")
	p.add("watch with one", "GET", c+"?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3D"+name, "")
	p.deletes(c, one, body)
}

// prerequisites creates the objects that the object needs.
func (p *prober) prerequisites() {
	for i, need := range p.stub.Prerequisites {
		path := "/apis/" + need.GvrData.GroupVersion().String()
		if need.GvrData.Group == "" {
			path = "/api/" + need.GvrData.Version
		}
		if p.resource.Namespaced {
			path += "/namespaces/" + namespace
		}
		p.add(fmt.Sprintf("prerequisite %d", i), "POST", path+"/"+need.GvrData.Resource, need.Stub)
	}
}

// creates creates the object and reads it.
func (p *prober) creates(c, one, body string) {
	p.add("create dry", "POST", c+"?dryRun=All", body)
	p.add("create strictly in dry", "POST", c+"?dryRun=All&fieldValidation=Strict&fieldManager=m", body)
	created := p.add("create", "POST", c, body)
	if p.resource.Name == "customresourcedefinitions" || p.resource.Name == "apiservices" || p.gv.Group == "admissionregistration.k8s.io" {
		created.Wait = 1500 * time.Millisecond
	}
	p.add("create again", "POST", c, body)
	p.add("apply again by another", "PATCH", one+"?fieldManager=other", body, "Content-Type", "application/apply-patch+yaml")
	p.add("get", "GET", one, "")
	p.add("get as table", "GET", one, "", "Accept", table)
	p.add("get as wide table", "GET", one+"?includeObject=Object", "", "Accept", table)
	p.add("get as partial", "GET", one, "", "Accept", partial)
	p.add("get as yaml", "GET", one, "", "Accept", "application/yaml")
}

// same leaves an object as it is.
func same(map[string]any) {}

func (p *prober) updates(one string) {
	p.edit("update with the same", "PUT", one, "get", same)
	label := func(o map[string]any) { meta(o)["labels"] = map[string]any{"wire": "yes"} }
	p.edit("update with a label", "PUT", one, "get", label)
	p.edit("update of an old one", "PUT", one, "create", func(o map[string]any) {
		meta(o)["labels"] = map[string]any{"wire": "no"}
		meta(o)["resourceVersion"] = "1"
	})
	p.edit("update with another uid", "PUT", one, "get", func(o map[string]any) { meta(o)["uid"] = "x"; delete(meta(o), "resourceVersion") })
	p.edit("update with another name", "PUT", one, "get", func(o map[string]any) { meta(o)["name"] = "x" })
	p.edit("update without a version", "PUT", one, "get", func(o map[string]any) {
		delete(meta(o), "resourceVersion")
		meta(o)["annotations"] = map[string]any{"a": "b"}
	})
	p.edit("update without anything", "PUT", one+"?dryRun=All", "get", func(o map[string]any) {
		for key := range o {
			if key != "apiVersion" && key != "kind" && key != "metadata" {
				delete(o, key)
			}
		}
		delete(meta(o), "resourceVersion")
	})
}

func (p *prober) patches(one, body, name string) {
	p.add("merge patch", "PATCH", one, `{"metadata":{"annotations":{"patched":"yes"}}}`, "Content-Type", "application/merge-patch+json")
	p.add("merge patch again", "PATCH", one, `{"metadata":{"annotations":{"patched":"yes"}}}`, "Content-Type", "application/merge-patch+json")
	p.add("strategic patch", "PATCH", one, `{"metadata":{"finalizers":["example.com/x"]}}`, "Content-Type", "application/strategic-merge-patch+json")
	p.add("json patch", "PATCH", one, `[{"op":"test","path":"/metadata/name","value":"x"}]`, "Content-Type", "application/json-patch+json")
	p.add("json patch of nothing", "PATCH", one, `[{"op":"remove","path":"/nope/nope"}]`, "Content-Type", "application/json-patch+json")
	p.add("patch of a bad spec", "PATCH", one, `{"spec":"x"}`, "Content-Type", "application/merge-patch+json")
	p.add("strategic patch of a bad spec", "PATCH", one, `{"spec":"x"}`, "Content-Type", "application/strategic-merge-patch+json")
	p.add("patch with an unknown field, strictly", "PATCH", one+"?fieldValidation=Strict", `{"nope":1}`, "Content-Type", "application/merge-patch+json")
	if p.stub.MutatedStub != "" {
		p.add("the other stub", "PATCH", one+"?dryRun=All", p.stub.MutatedStub, "Content-Type", "application/merge-patch+json")
	}
	p.add("apply without a manager", "PATCH", one, body, "Content-Type", "application/apply-patch+yaml")
	p.add("apply by another", "PATCH", one+"?fieldManager=other&force=true", fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{"patched":"no"}}}`, p.gv.String(), p.resource.Kind, name), "Content-Type", "application/apply-patch+yaml")
	p.add("apply by a third", "PATCH", one+"?fieldManager=third", fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{"patched":"third"}}}`, p.gv.String(), p.resource.Kind, name), "Content-Type", "application/apply-patch+yaml")
}

func (p *prober) subresource(sub, path string) {
	verbs := p.subresources[sub]
	switch sub {
	case "exec", "attach", "portforward", "proxy", "log":
		p.add(sub, "GET", path, "")
		return
	}
	p.add("get "+sub, "GET", path, "")
	p.add("get "+sub+" as table", "GET", path, "", "Accept", table)
	if slices.Contains(verbs, "update") {
		p.edit("update "+sub+" with the same", "PUT", path, "get "+sub, same)
		p.edit("update "+sub+" with a label", "PUT", path, "get "+sub, func(o map[string]any) { meta(o)["labels"] = map[string]any{"sub": "yes"} })
	}
	if slices.Contains(verbs, "patch") {
		if sub == "status" {
			p.add("patch status", "PATCH", path, p.stub.GetStatusStub(), "Content-Type", "application/merge-patch+json")
			p.add("apply status", "PATCH", path+"?fieldManager=s&force=true", fmt.Sprintf(`{"apiVersion":%q,"kind":%q,%s`, p.gv.String(), p.resource.Kind, strings.TrimPrefix(p.stub.GetStatusStub(), "{")), "Content-Type", "application/apply-patch+yaml")
			p.add("patch status with text", "PATCH", path, `{"status":"x"}`, "Content-Type", "application/merge-patch+json")
		}
		p.add("patch "+sub+" empty", "PATCH", path, `{}`, "Content-Type", "application/merge-patch+json")
		p.add("patch "+sub+" strictly", "PATCH", path+"?fieldValidation=Strict", `{"nope":1}`, "Content-Type", "application/merge-patch+json")
	}
	if sub == "scale" {
		p.add("scale", "PATCH", path, `{"spec":{"replicas":3}}`, "Content-Type", "application/merge-patch+json")
		p.add("scale below zero", "PATCH", path, `{"spec":{"replicas":-1}}`, "Content-Type", "application/merge-patch+json")
	}
	if slices.Contains(verbs, "create") {
		p.add("create "+sub, "POST", path+"?dryRun=All", "{}")
	}
}

// deletes deletes the object, which has a finalizer, and a second one of its name.
func (p *prober) deletes(c, one, body string) {
	p.add("delete with another uid", "DELETE", one, `{"preconditions":{"uid":"x"}}`)
	p.add("delete with another version", "DELETE", one, `{"preconditions":{"resourceVersion":"1"}}`)
	p.add("delete dry", "DELETE", one+"?dryRun=All", "")
	p.add("delete collection dry", "DELETE", c+"?dryRun=All&labelSelector=wire%3Dyes", "")
	p.add("delete", "DELETE", one, "")
	p.add("get what waits", "GET", one, "")
	p.add("finalizer on what waits", "PATCH", one, `{"metadata":{"finalizers":["example.com/x","example.com/y"]}}`, "Content-Type", "application/merge-patch+json")
	p.add("no finalizer", "PATCH", one, `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
	p.add("get what is gone", "GET", one, "")
	p.add("delete again", "DELETE", one+"?gracePeriodSeconds=0", "")
	p.add("create by apply", "PATCH", one+"?fieldManager=m", body, "Content-Type", "application/apply-patch+yaml")
	p.add("delete in the foreground", "DELETE", one+"?gracePeriodSeconds=0", `{"propagationPolicy":"Foreground"}`)
	p.add("patch out", "PATCH", one, `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
}

// meta returns the metadata of an object.
func meta(o map[string]any) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func (p *prober) edit(name, method, path, from string, edit func(map[string]any)) {
	p.add(name, method, path, "")
	r := &p.requests[len(p.requests)-1]
	r.From, r.Edit = from, edit
}
