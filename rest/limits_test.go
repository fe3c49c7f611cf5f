package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"
	"k8s.io/klog/v2"
)

// fillersDefinition is a kind whose spec.items have a default of 100 KB each.
func fillersDefinition() string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"fillers.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"fillers","kind":"Filler"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string","default":"` +
		strings.Repeat("x", 100_000) + `"}}}}}}}}}}]}}`
}

const fillersPath = "/apis/example.com/v1/fillers"

func filler(name string, items int) string {
	return `{"apiVersion":"example.com/v1","kind":"Filler","metadata":{"name":"` + name + `"},"spec":{"items":[` + strings.TrimSuffix(strings.Repeat("{},", items), ",") + `]}}`
}

// TestWhatDefaultsAddIsBounded sends 200 KB that would become 5 GB.
func TestWhatDefaultsAddIsBounded(t *testing.T) {
	// By the clock of a bubble, no request is too late, however busy the machine is.
	synctest.Test(t, testWhatDefaultsAddIsBounded)
}

func testWhatDefaultsAddIsBounded(t *testing.T) {
	c := start(t)
	c.must("POST", definitionsPath, fillersDefinition())
	c.must("POST", fillersPath, filler("small", 10))
	const lacks = "the defaults that the object lacks are larger than 16 MiB"
	huge := filler("huge", 50_000)
	patch := strings.Replace(filler("small", 50_000), `"metadata":{"name":"small"},`, "", 1)
	for _, tt := range []struct {
		rule, method, path, mediaType, body string
		code                                int
		message                             string // what it ends with
	}{
		{"a create", "POST", fillersPath, "application/json", huge, 400, `Filler in version "v1" cannot be handled as a Filler: ` + lacks},
		{"an update", "PUT", fillersPath + "/small", "application/json", filler("small", 50_000), 400, `Filler in version "v1" cannot be handled as a Filler: ` + lacks},
		{"a merge patch", "PATCH", fillersPath + "/small", "application/merge-patch+json", patch, 422, lacks},
		{"an apply that creates", "PATCH", fillersPath + "/huge?fieldManager=x", "application/apply-patch+yaml", huge, 500, lacks},
		{"an apply that changes", "PATCH", fillersPath + "/small?fieldManager=x&force=true", "application/apply-patch+yaml", filler("small", 50_000), 500, lacks},
		{"more than can be stored", "POST", fillersPath, "application/json", filler("huge", 100), 500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (10001418 vs. 2097152)"},
	} {
		before := c.must("GET", fillersPath, "")
		a := c.do(tt.method, tt.path, http.Header{"Content-Type": {tt.mediaType}}, tt.body)
		expect(t, tt.rule+": code", a.code, tt.code)
		if message := statusOf(t, a).Message; !strings.HasSuffix(message, tt.message) {
			t.Errorf("%s: message %.300s", tt.rule, message)
		}
		expect(t, tt.rule+": the objects", c.must("GET", fillersPath, ""), before)
	}
}

// An object that was stored before its definition got the defaults can be read no more, until these go.
func TestWhatDefaultsAddToAStoredObjectIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lacks = "the defaults that the object lacks are larger than 16 MiB"
		huge := filler("huge", 50_000)
		free := strings.Replace(fillersDefinition(), `,"default":"`+strings.Repeat("x", 100_000)+`"`, "", 1)
		c := start(t)
		c.must("POST", definitionsPath, free)
		c.must("POST", fillersPath, huge)
		has := metadataOf(t, c.must("GET", definitionsPath+"/fillers.example.com", "")).ResourceVersion
		c.must("PUT", definitionsPath+"/fillers.example.com",
			strings.Replace(fillersDefinition(), `"metadata":{`, `"metadata":{"resourceVersion":"`+has+`",`, 1))
		a := c.do("GET", fillersPath+"/huge", nil, "")
		expect(t, "code", a.code, 500)
		if message := statusOf(t, a).Message; !strings.HasSuffix(message, lacks) {
			t.Errorf("message %.300s", message)
		}
		c.must("PUT", definitionsPath+"/fillers.example.com", strings.Replace(free, `"metadata":{`, `"metadata":{"resourceVersion":"`+
			metadataOf(t, c.must("GET", definitionsPath+"/fillers.example.com", "")).ResourceVersion+`",`, 1))
		c.must("GET", fillersPath+"/huge", "")
	})
}

// TestEveryRequestHasADeadline has requests whose time is up before they begin: without any
// admission plugin, whatever they ask for.
func TestEveryRequestHasADeadline(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	before := c.must("GET", widgetsPath, "")
	for _, tt := range []struct{ method, path, mediaType, body string }{
		{"GET", widgetsPath, "", ""},
		{"GET", widgetsPath + "/a", "", ""},
		{"POST", widgetsPath, "application/json", widget("b")},
		{"PUT", widgetsPath + "/a", "application/json", strings.Replace(widget("a"), `{}`, `{"size":1}`, 1)},
		{"PATCH", widgetsPath + "/a", "application/merge-patch+json", `{"spec":{"size":1}}`},
		{"PATCH", widgetsPath + "/b?fieldManager=x", "application/apply-patch+yaml", widget("b")},
		{"DELETE", widgetsPath + "/a", "", ""},
		{"DELETE", widgetsPath, "", ""},
	} {
		query := "?"
		if strings.Contains(tt.path, "?") {
			query = "&"
		}
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			a := c.do(tt.method, tt.path+query+"timeout=1ns", http.Header{"Content-Type": {tt.mediaType}}, tt.body)
			expect(t, "code", a.code, 504)
			expect(t, "answer", a.body, allotted)
			expect(t, "the objects", c.must("GET", widgetsPath, ""), before)
		})
	}
	t.Run("a watch has none", func(t *testing.T) {
		w := c.watch(widgetsPath + "?watch=1&timeout=1ns")
		expect(t, "first", w.next(), "ADDED a")
		c.must("POST", widgetsPath, widget("later"))
		expect(t, "then", w.next(), "ADDED later")
	})
	t.Run("a body that does not end", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s?timeout=10ms HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", widgetsPath, token)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		expect(t, "answer", fmt.Sprint(res.StatusCode, " ", string(body), err), "504 "+allotted+"<nil>")
	})
}

// TestABodyThatIsNotInChunks sends bodies whose chunks cannot be read. Clients see the error of net/http.
func TestABodyThatIsNotInChunks(t *testing.T) {
	c := start(t)
	c.install("widgets")
	for _, tt := range []struct{ body, want string }{
		{"zz\r\n{}\r\n0\r\n\r\n", "invalid byte in chunk length"},
		{"2\r\n{}x\r\n0\r\n\r\n", "malformed chunked encoding"},
		{"fffffffffffffffff\r\n{}\r\n0\r\n\r\n", "http chunk length too large"},
		{"\r\n{}\r\n0\r\n\r\n", "empty hex number for chunk length"},
	} {
		for _, line := range []string{"POST " + widgetsPath, "PUT " + widgetsPath + "/a", "DELETE " + widgetsPath} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%s", line, token, tt.body)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			expect(t, line, fmt.Sprint(strings.TrimSpace(string(body)), err), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"`+tt.want+`","code":500}<nil>`)
		}
	}
}

// TestARevisionThatNoSignedNumberHolds reads at what would overflow.
func TestARevisionThatNoSignedNumberHolds(t *testing.T) {
	c := start(t)
	c.install("widgets")
	c.must("POST", widgetsPath, widget("a"))
	now := c.list(widgetsPath).ResourceVersion
	tooLarge := func(revision string) string {
		return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: ` + revision + `, current: ` + now +
			`","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`
	}
	for _, tt := range []struct {
		query string
		code  int
		body  string
	}{
		{"?resourceVersion=9223372036854775808", 504, tooLarge("9223372036854775808") + "\n"},
		{"?resourceVersionMatch=Exact&resourceVersion=9223372036854775808", 504, tooLarge("9223372036854775808") + "\n"},
		{"?resourceVersionMatch=NotOlderThan&resourceVersion=18446744073709551615", 504, tooLarge("18446744073709551615") + "\n"},
		{"/a?resourceVersion=9223372036854775808", 504, tooLarge("9223372036854775808") + "\n"},
		{"?watch=1&timeoutSeconds=1&resourceVersion=9223372036854775808", 200, ""},
		{"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9223372036854775808", 200,
			`{"type":"ERROR","object":` + tooLarge("9223372036854775808") + "}\n"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel() // reads wait for the revision
			a := c.do("GET", widgetsPath+tt.query, nil, "")
			expect(t, "code", a.code, tt.code)
			expect(t, "answer", a.body, tt.body)
		})
	}
}

func TestTheVersionIsReadOnly(t *testing.T) {
	c := start(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for _, path := range []string{"/version", "/version/"} {
			a := c.do(method, path, nil, "")
			expect(t, method+" "+path, fmt.Sprint(a.code, " ", a.body),
				`405 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}`+"\n")
		}
	}
	expect(t, "HEAD", c.do("HEAD", "/version", nil, "").code, 405)
	expect(t, "GET", c.do("GET", "/version", nil, "").code, 200)
}

// TestLargeSelectorsAreNotLogged sends 900 KB of selectors, as much as a URL takes.
func TestLargeSelectorsAreNotLogged(t *testing.T) {
	var logged bytes.Buffer
	state := klog.CaptureState()
	defer state.Restore()
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	c := startInProcess(t)
	if a := c.serve("POST", definitionsPath, jsonBody, []byte(definition(t, "widgets"))); a.code != 201 {
		t.Fatal(a.body)
	}
	long := strings.Repeat("x", 900_000)
	for _, query := range []string{
		"labelSelector=" + long, "labelSelector=a+in+(" + long + ")", "labelSelector=!!" + long, "fieldSelector=" + long, "fieldSelector=" + long + "%3Da",
		"fieldSelector=metadata.name%3D" + long, "continue=" + long, "resourceVersion=" + long, "limit=" + long, "watch=" + long, "timeout=" + long,
	} {
		for _, method := range []string{"GET", "DELETE"} {
			a := c.serve(method, widgetsPath+"?timeoutSeconds=1&"+query, nil, nil)
			expect(t, method+" "+query[:20], a.code == 400 || a.code == 200 || a.code == 500 && strings.HasPrefix(query, "resourceVersion") || a.code == 405, true)
		}
	}
	klog.Flush()
	if logged.Len() > 1000 {
		t.Errorf("%d bytes were logged: %.1000s", logged.Len(), logged.String())
	}
}

// TestGiganticQuantitiesAreRefused sends numbers that upstream would compute with for hours, in
// every form in which a body can have them.
func TestGiganticQuantitiesAreRefused(t *testing.T) {
	c := start(t)
	const pods = "/api/v1/namespaces/default/pods"
	pod := func(name, cpu string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"a","image":"b","resources":{"requests":{"cpu":` + cpu + `}}}]}}`
	}
	c.must("POST", pods, pod("there", `"1e3"`))
	small := c.do("POST", pods+"?dryRun=All", http.Header{"Content-Type": {"application/json"}, "Accept": {"application/vnd.kubernetes.protobuf"}}, pod("wire", `"123456789012"`))
	wire := strings.Replace(small.body, "123456789012", "1e-999999999", 1)
	if small.code != 201 || wire == small.body {
		t.Fatal("no protobuf to change")
	}
	for _, tt := range []struct{ rule, method, path, mediaType, body string }{
		{"a text", "POST", pods, "application/json", pod("a", `"1e999999999"`)},
		{"a negative exponent", "POST", pods, "application/json", pod("a", `"1E-999999999"`)},
		{"a number", "POST", pods, "application/json", pod("a", `1e999999999`)},
		{"many digits", "POST", pods, "application/json", pod("a", `"`+strings.Repeat("9", 1_000_000)+`"`)},
		{"many digits without quotes", "POST", pods, "application/json", pod("a", strings.Repeat("9", 1_000_000))},
		{"a small number", "POST", pods, "application/json", strings.Replace(pod("a", `1e-999999999`), `"metadata":{`, `"metadata":{"annotations":{"a":"see 1e5, 2"},`, 1)},
		{"an escape in YAML that begins as JSON does", "POST", pods, "application/yaml", pod("a", `"1\x65999999999"`)},
		{"an escape", "POST", pods, "application/json", pod("a", `"1\u0065999999999"`)},
		{"YAML", "POST", pods, "application/yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: b\n    resources: {requests: {cpu: 1e999999999}}\n"},
		{"an escape in YAML", "POST", pods, "application/yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: b\n    resources: {requests: {cpu: \"1\\x65999999999\"}}\n"},
		{"protobuf", "POST", pods, "application/vnd.kubernetes.protobuf", wire},
		{"an update", "PUT", pods + "/there", "application/json", pod("there", `"1e999999999"`)},
		{"a JSON patch", "PATCH", pods + "/there", "application/json-patch+json", `[{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"1e999999999"}]`},
		{"a merge patch", "PATCH", pods + "/there", "application/merge-patch+json", `{"spec":{"overhead":{"cpu":"1e999999999"}}}`},
		{"a strategic merge patch", "PATCH", pods + "/there", "application/strategic-merge-patch+json", `{"spec":{"overhead":{"cpu":1e999999999}}}`},
		{"an apply", "PATCH", pods + "/there?fieldManager=x", "application/apply-patch+yaml", pod("there", `1e999999999`)},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			a := c.do(tt.method, tt.path, http.Header{"Content-Type": {tt.mediaType}}, tt.body)
			expect(t, "code", a.code, 400)
			expect(t, "message", statusOf(t, a).Message, `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`)
		})
	}
	// A body that decoding refuses by its apiVersion is refused by that: nothing computes with its quantities.
	for _, method := range []string{"POST " + pods, "PUT " + pods + "/there"} {
		method, path, _ := strings.Cut(method, " ")
		a := c.do(method, path, jsonBody, strings.Replace(pod("there", `"1e999999999"`), `"v1"`, `"\/batch/v1"`, 1))
		expect(t, "code", a.code, 400)
		expect(t, "message", statusOf(t, a).Message, `the object provided is unrecognized (must be of type Pod): unexpected GroupVersion string: /batch/v1 ({"apiVersion":"\/batch/v1","ki ...)`)
	}
	c.must("POST", pods, pod("fine", `"1e3"`))
	c.must("POST", pods, strings.Replace(pod("text", `"1"`), `"metadata":{`, `"metadata":{"annotations":{"a":"see 1e99999","b":"\u0031"},`, 1))
	c.must("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"},"data":{"a":"1e999999999"}}`)
	c.must("POST", pods, strings.Replace(pod("commit", `"1"`), `"metadata":{`, `"metadata":{"labels":{"commit":"5e123456789"},`, 1))
}

// TestMetadataIsBounded sends objects with a hundred thousand pieces of metadata, in every way.
func TestMetadataIsBounded(t *testing.T) { synctest.Test(t, testMetadataIsBounded) }

func testMetadataIsBounded(t *testing.T) {
	c := start(t)
	c.install("widgets")
	const maps = "/api/v1/namespaces/default/configmaps"
	c.must("POST", widgetsPath, widget("there"))
	c.must("POST", maps, `{"metadata":{"name":"there"}}`)
	many := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(item, "N", "%[1]d")+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, tt := range []struct{ field, value string }{
		{"labels", "{" + many(20_000, `"aN":""`) + "}"},
		{"annotations", "{" + many(20_000, `"aN":""`) + "}"},
		{"finalizers", "[" + many(20_000, `"a.b/cN"`) + "]"},
		{"ownerReferences", "[" + many(20_000, `{"apiVersion":"v1","kind":"Pod","name":"N","uid":"N"}`) + "]"},
		{"managedFields", "[" + many(20_000, `{"manager":"N","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}`) + "]"},
	} {
		for _, kind := range []struct{ path, apiVersion, kind string }{{widgetsPath, "example.com/v1", "Widget"}, {maps, "v1", "ConfigMap"}} {
			obj := func(name string) string {
				return `{"apiVersion":"` + kind.apiVersion + `","kind":"` + kind.kind + `","metadata":{"name":"` + name + `","` + tt.field + `":` + tt.value + `}}`
			}
			for _, way := range []struct{ method, path, mediaType, body string }{
				{"POST", "", "application/json", obj("new")},
				{"PUT", "/there", "application/json", obj("there")},
				{"PATCH", "/there", "application/merge-patch+json", `{"metadata":{"` + tt.field + `":` + tt.value + `}}`},
				{"PATCH", "/new?fieldManager=x", "application/apply-patch+yaml", obj("new")},
				{"PATCH", "/there?fieldManager=x", "application/apply-patch+yaml", obj("there")},
			} {
				a := c.do(way.method, kind.path+way.path, http.Header{"Content-Type": {way.mediaType}}, way.body)
				expect(t, kind.kind+" "+tt.field+" "+way.method+" "+way.mediaType, fmt.Sprint(a.code, " ", statusOf(t, a).Message),
					"413 Request entity too large: metadata."+tt.field+" has 20000 entries, and fakecluster takes 10000")
			}
		}
	}
}

// TestMetadataThatNoServerTakes sends more metadata than etcd takes, or than annotations may
// have. These are refused in a real server's words.
func TestMetadataThatNoServerTakes(t *testing.T) {
	c := start(t)
	c.install("widgets")
	long := strings.Repeat("a", 30)
	texts := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%s%d":"%[1]s",`, long, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	for _, tt := range []struct {
		rule, metadata string
		code           int
		message        string
	}{
		{"1.7 MB of labels", `"labels":` + texts(25_000), 500, "etcdserver: request is too large"},
		{"2.1 MB of labels", `"labels":` + texts(30_000), 500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2118890 vs. 2097152)"},
		{"2.1 MB of finalizers", `"finalizers":[` + strings.TrimSuffix(strings.Repeat(`"sample0123456789/sample0123456789",`, 60_000), ",") + `]`,
			500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2160000 vs. 2097152)"},
		{"3 MB of labels", `"labels":` + texts(45_000), 413, "Request entity too large: limit is 3145728"},
		{"1.7 MB of annotations", `"annotations":` + texts(25_000), 422, `"a" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes`},
	} {
		for _, kind := range []struct{ path, apiVersion, kind, name string }{
			{widgetsPath, "example.com/v1", "Widget", "Widget.example.com"}, {"/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", "ConfigMap"},
		} {
			t.Run(tt.rule+" of a "+kind.kind, func(t *testing.T) {
				a := c.do("POST", kind.path, http.Header{"Content-Type": {"application/json"}},
					`{"apiVersion":"`+kind.apiVersion+`","kind":"`+kind.kind+`","metadata":{"name":"a",`+tt.metadata+`}}`)
				message := tt.message
				if tt.code == 422 {
					message = kind.name + " " + message
				}
				expect(t, "answer", fmt.Sprint(a.code, " ", statusOf(t, a).Message), fmt.Sprint(tt.code, " ", message))
			})
		}
	}
}

// TestTheRightsOfARoleAreBounded: a role of a few kilobytes grants billions of combinations, and the check of what a
// user may grant looks at each.
func TestTheRightsOfARoleAreBounded(t *testing.T) {
	c := startInProcess(t)
	role := func(n int) []byte {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%q", fmt.Sprint("n", i)))
		}
		joined := strings.Join(names, ",")
		return fmt.Appendf(nil, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"},"rules":[{"apiGroups":[%s],"resources":[%s],"resourceNames":[%s],"verbs":[%s]}]}`,
			joined, joined, joined, joined)
	}
	for n, want := range map[int]string{
		20:  "201 ",
		400: `413 Request entity too large: the rules grant 25600000000 combinations of group, resource, verb and name, but fakecluster allows 200000; use "*"`,
	} {
		a := c.serve("POST", rolesPath, jsonBody, role(n))
		expect(t, fmt.Sprint(n), fmt.Sprint(a.code, " ", gjson.Get(a.body, "message").Str), want)
	}
	a := c.serve("PUT", rolesPath+"/r", jsonBody, role(400))
	expect(t, "a put", a.code, 413)
}
