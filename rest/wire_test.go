package rest_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/internal/testing/gotext"
)

// record names a real API server; its answers replace the expected ones in
// testdata/wire. The server must be disposable, and a plain proxy in front of it
// must log in.
var record = flag.String("record", "", "`URL` of a real API server whose answers to record in testdata/wire")

// TestWire plays the conversations in testdata/wire: requests and the exact
// answers of a real server. The recorded cases are the answers of upstream's own
// apiextensions-apiserver at the version of go.mod; those marked @hand are
// worked out from its sources, because that server alone has no namespaces, and no aggregator.
//
// A file is a sequence of cases, all on one cluster:
//
//	# why the cases below are there
//	=== the rule
//	@hand                        this case is not recorded
//	@crd NAME                    create the definition in testdata/crds/NAME.json
//	> METHOD PATH                requests are set apart by blank lines
//	> Header: value
//	>
//	> body
//	< 200 application/json
//	< Header: value
//	<
//	< body
//	@open w GET PATH             open a stream; its head follows as "< "
//	@read w 2                    read two lines of it, which follow
//	@end w                       read to its end: what is left follows
//	@close w                     leave it
//
// "< \" stands for a body that does not end in a line break.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.http")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			if *record == "" {
				t.Parallel() // reads wait for a revision that is yet to come
			}
			playFile(t, file)
		})
	}
}

func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c *cluster
	if *record != "" {
		c = startRecording(t, *record)
	} else {
		c = start(t)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var out []string
	for line := 0; line < len(lines); {
		next := line + 1
		for next < len(lines) && !strings.HasPrefix(lines[next], "=== ") {
			next++
		}
		part := lines[line:next]
		if name, ok := strings.CutPrefix(part[0], "=== "); ok {
			t.Run(name, func(t *testing.T) {
				copied := *c
				copied.t = t
				p := &player{cluster: &copied, file: file, line: line, mask: newMask(), streams: map[string]*stream{}}
				part = p.play(part)
			})
		}
		out = append(out, part...)
		line = next
	}
	if *record != "" {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// player plays one case.
type player struct {
	*cluster
	file    string
	line    int // of the case in the file
	mask    *mask
	streams map[string]*stream
}

type stream struct {
	*bufio.Reader
	body io.ReadCloser
}

// play returns the case with its answers replaced by those that came.
func (p *player) play(lines []string) []string {
	var out []string
	defer func() {
		for _, s := range p.streams {
			s.body.Close()
		}
	}()
	hand := strings.Contains(strings.Join(lines, "\n"), "\n@hand")
	if hand && *record != "" {
		return lines
	}
	for next := 0; next < len(lines); {
		line := lines[next]
		command := strings.Fields(line)
		if !strings.HasPrefix(line, "> ") && !strings.HasPrefix(line, "@") || line == "@hand" {
			if !strings.HasPrefix(line, "<") {
				out = append(out, line)
			}
			next++
			continue
		}
		begin := next
		var request []string
		if line[0] == '>' {
			for ; next < len(lines) && strings.HasPrefix(lines[next], ">"); next++ {
				request = append(request, strings.TrimPrefix(strings.TrimPrefix(lines[next], ">"), " "))
			}
		} else {
			next++
		}
		out = append(out, lines[begin:next]...)
		var want []string
		for ; next < len(lines) && strings.HasPrefix(lines[next], "<"); next++ {
			want = append(want, gotext.JSON(lines[next]))
		}
		got := p.step(command, request)
		if *record == "" {
			if !slices.Equal(want, got) {
				p.t.Errorf("%s:%d: %s (-want +got):\n%s", p.file, p.line+begin+1, line, lineDiff(want, got))
			}
		}
		out = append(out, got...)
	}
	return out
}

// step does one thing and returns what came back, in the form of the file.
func (p *player) step(command, request []string) []string {
	p.t.Helper()
	switch command[0] {
	case ">":
		a := p.request(request)
		return p.format(a)
	case "@crd":
		p.install(command[1])
		p.waitForReal("POST", definitionsPath)
		return nil
	case "@open":
		res := p.cluster.open(command[2], p.mask.show(command[3]), nil, "")
		p.streams[command[1]] = &stream{bufio.NewReader(res.Body), res.Body}
		return p.format(answer{code: res.StatusCode, header: res.Header})
	case "@read":
		var n int
		if _, err := fmt.Sscan(command[2], &n); err != nil {
			p.t.Fatal(err)
		}
		var lines []string
		for range n {
			text, err := p.streams[command[1]].ReadString('\n')
			if err != nil {
				p.t.Errorf("%s: the stream ended: %v", command[1], err)
				break
			}
			lines = append(lines, "< "+p.mask.hide(strings.TrimSuffix(text, "\n")))
		}
		return lines
	case "@end":
		rest, err := io.ReadAll(p.streams[command[1]])
		if err != nil {
			p.t.Errorf("%s: the stream did not end: %v", command[1], err)
		}
		return bodyLines(p.mask.hide(string(rest)))
	case "@close":
		p.streams[command[1]].body.Close()
		return nil
	}
	p.t.Fatalf("%s: unknown command %q", p.file, command[0])
	return nil
}

func (p *player) request(lines []string) answer {
	method, path, _ := strings.Cut(p.mask.show(lines[0]), " ")
	header := http.Header{}
	i := 1
	for ; i < len(lines) && lines[i] != ""; i++ {
		name, value, _ := strings.Cut(lines[i], ": ")
		header.Add(name, value)
	}
	body := ""
	if i < len(lines) {
		body = p.mask.show(strings.Join(lines[i+1:], "\n"))
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
	}
	if header.Get("Content-Type") == "none" {
		header.Del("Content-Type")
	}
	a := p.do(method, path, header, body)
	for *record != "" && a.code == http.StatusTooManyRequests { // its watch cache is not ready
		time.Sleep(time.Second)
		a = p.do(method, path, header, body)
	}
	if a.code < 300 {
		p.waitForReal(method, path)
	}
	return a
}

// compared are the headers that a conversation shows.
var compared = []string{"Allow", "Content-Encoding", "Location", "Retry-After", "Vary", "Warning", "Www-Authenticate", "X-Content-Type-Options"}

func (p *player) format(a answer) []string {
	lines := []string{strings.TrimSpace(fmt.Sprintf("< %d %s", a.code, a.header.Get("Content-Type")))}
	for _, name := range compared {
		for _, value := range a.header.Values(name) {
			lines = append(lines, "< "+name+": "+value)
		}
	}
	if a.body != "" {
		lines = append(lines, "<")
	}
	return append(lines, bodyLines(p.mask.hide(a.body))...)
}

// lineDiff shows whole lines, the equal ones at both ends left out: an answer is
// mostly one long line, which reads better unbroken.
func lineDiff(want, got []string) string {
	for len(want) > 0 && len(got) > 0 && want[0] == got[0] {
		want, got = want[1:], got[1:]
	}
	for len(want) > 0 && len(got) > 0 && want[len(want)-1] == got[len(got)-1] {
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	var b strings.Builder
	for _, line := range want {
		b.WriteString("- " + line + "\n")
	}
	for _, line := range got {
		b.WriteString("+ " + line + "\n")
	}
	return b.String()
}

func bodyLines(body string) []string {
	if body == "" {
		return nil
	}
	if !utf8.ValidString(body) || strings.Contains(body, "\x00") {
		return []string{"< " + strconv.Quote(body)}
	}
	text, complete := strings.CutSuffix(body, "\n")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight("< "+line, " "))
	}
	if !complete {
		lines = append(lines, `< \`)
	}
	return lines
}

// waitForReal gives a real server, which updates definitions and its watch cache in
// the background, the time that it needs. Ours needs none.
func (p *player) waitForReal(method, path string) {
	switch {
	case *record == "" || method == "GET" || method == "HEAD":
	case strings.HasPrefix(path, definitionsPath):
		time.Sleep(2500 * time.Millisecond)
	default:
		time.Sleep(150 * time.Millisecond)
	}
}

// startRecording is a cluster in front of a real server, emptied of definitions.
func startRecording(t *testing.T, url string) *cluster {
	t.Helper()
	c := &cluster{t: t, url: url, client: &http.Client{}}
	t.Cleanup(c.client.CloseIdleConnections)
	type named struct {
		Metadata metav1.ObjectMeta
		Spec     struct {
			Group    string
			Versions []struct{ Name string }
		}
	}
	list := func(path string) (items []named) {
		var list struct{ Items []named }
		if err := json.Unmarshal([]byte(c.do("GET", path, nil, "").body), &list); err != nil {
			t.Logf("%s: %v", path, err)
		}
		return list.Items
	}
	for range 20 {
		definitions := list(definitionsPath)
		if len(definitions) == 0 {
			break
		}
		for _, d := range definitions {
			plural, _, _ := strings.Cut(d.Metadata.Name, ".")
			for _, v := range d.Spec.Versions {
				path := "/apis/" + d.Spec.Group + "/" + v.Name + "/"
				for _, item := range list(path + plural) {
					location := path + plural + "/" + item.Metadata.Name
					if item.Metadata.Namespace != "" {
						location = path + "namespaces/" + item.Metadata.Namespace + "/" + plural + "/" + item.Metadata.Name
					}
					c.do("PATCH", location, http.Header{"Content-Type": {"application/merge-patch+json"}}, `{"metadata":{"finalizers":null}}`)
				}
			}
			// One by one: a real server leaves custom objects behind when it
			// deletes definitions as a collection.
			c.do("DELETE", definitionsPath+"/"+d.Metadata.Name, nil, "")
		}
		time.Sleep(time.Second)
	}
	time.Sleep(time.Second)
	return c
}
