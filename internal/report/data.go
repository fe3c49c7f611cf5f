package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/findings"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/printable"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/view"
	"github.com/fakecluster/fakecluster/store"
)

// Data is the data of a page. Its JSON names are short, because there may be tens of thousands of each.
type Data struct {
	Title    string    `json:"title"`
	Failure  *Failure  `json:"failure,omitempty"`
	Began    time.Time `json:"began"`
	Findings []string  `json:"findings"`
	Requests []request `json:"requests"`
	Objects  []*object `json:"objects"`
	Events   []event   `json:"events"`
	// Left is the number of revisions that are left out, because there are too many.
	Left int `json:"left"`
}

// Failure is the first failed assertion of a test.
type Failure struct {
	Message string `json:"m"`
	// After is the number of the last request before it.
	After int64 `json:"n,omitempty"`
}

type request struct {
	Number   int64                 `json:"n"`
	Cause    int64                 `json:"by,omitempty"`
	At       float64               `json:"t"` // milliseconds since Began
	Took     float64               `json:"ms"`
	Client   string                `json:"c"`
	User     string                `json:"u"`
	Verb     string                `json:"v"`
	Object   string                `json:"o"`
	Options  string                `json:"q,omitempty"`
	Code     int                   `json:"code"`
	Reason   string                `json:"r,omitempty"`
	Message  string                `json:"m,omitempty"`
	Fault    string                `json:"f,omitempty"`
	Revision int64                 `json:"rev,omitempty"`
	Repeats  bool                  `json:"same,omitempty"`
	Running  bool                  `json:"run,omitempty"`
	Events   int64                 `json:"ev,omitempty"`
	Webhooks []inspect.WebhookCall `json:"wh,omitempty"`
}

type object struct {
	Name      string     `json:"name"`
	Revisions []revision `json:"revs"`
}

type revision struct {
	Revision int64    `json:"rev"`
	At       float64  `json:"t"`
	Event    string   `json:"e"`
	Client   string   `json:"c,omitempty"`
	Verb     string   `json:"v,omitempty"`
	Request  int64    `json:"n,omitempty"`
	Changes  []string `json:"d,omitempty"`
}

// event is a write of an Event.
type event struct {
	Object  string  `json:"of"` // the name of the involved object, as in objects
	At      float64 `json:"t"`
	Name    string  `json:"name"` // of the Event
	Type    string  `json:"e"`
	Reason  string  `json:"r"`
	Message string  `json:"m"`
	Count   int64   `json:"k,omitempty"`
	Client  string  `json:"c,omitempty"`
	Request int64   `json:"n,omitempty"`
}

// maxRevisions is the maximum number of revisions on a page, the newest ones.
const maxRevisions = 20_000

// New collects the data of a page. failure may be nil.
func New(title string, failure *Failure, c findings.Source) *Data {
	c.Whole = true
	d := &Data{Title: title, Failure: failure, Began: c.History.Began(), Findings: lines(findings.Collect(c))}
	for _, q := range c.History.Requests() {
		d.Requests = append(d.Requests, d.request(&q))
	}
	d.collect(c)
	return d
}

// lines returns all findings as text.
func lines(f inspect.Findings) []string {
	if f.Summary == "" {
		return nil
	}
	out := []string{f.Summary}
	for _, s := range f.Sections {
		out = append(out, "  "+s.Title)
		for _, line := range s.Lines {
			out = append(out, "    "+printable.Text(line))
		}
	}
	return out
}

// since returns the milliseconds between Began and t.
func (d *Data) since(t time.Time) float64 { return milliseconds(t.Sub(d.Began)) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (d *Data) request(q *inspect.Request) request {
	r := request{
		Number: q.Number, Cause: q.Cause, At: d.since(q.Time), Took: milliseconds(q.Latency), Client: q.Client(), User: q.User,
		Verb: q.Verb, Object: q.Object(), Options: q.Options, Code: q.Code, Reason: string(q.Reason), Message: q.Message, Fault: q.Fault,
		Revision: q.Revision, Repeats: q.Repeats, Running: q.Running, Events: q.Events, Webhooks: q.Webhooks,
	}
	if q.Patch == "apply" {
		r.Verb = q.Patch
	}
	return r
}

// events maps types of the store's events to those of watch events.
var events = map[store.EventType]watch.EventType{store.Created: watch.Added, store.Updated: watch.Modified, store.Deleted: watch.Deleted}

// collect adds the objects that have been written since Began, the last written ones first.
func (d *Data) collect(c findings.Source) {
	from := max(c.Store.Oldest(), c.Store.Revision()-maxRevisions)
	changes, err := c.Store.Watch("", from)
	if err != nil {
		return // the store is closed, or has compacted these revisions
	}
	byKey, created := map[string]*object{}, map[int64]string{} // created: the name of the object by the number of the request
	for {
		batch, err := changes.Poll()
		if err != nil || len(batch) == 0 {
			break
		}
		for _, e := range batch {
			by, ok := c.History.Writer(e.Record.Revision)
			if !ok || by.Request == 0 {
				continue
			}
			res := c.Registry.ResourceOf(e.Record.Key)
			if described, ok := findings.EventOf(c.Registry, res, e); ok {
				d.Events = append(d.Events, event{
					Object: described.Object, Name: described.Name, Type: described.Type, Reason: described.Reason, Message: described.Message, Count: described.Count,
					At: d.since(by.Time), Client: inspect.ClientName(by.User, by.UserAgent), Request: by.Request,
				})
				continue
			}
			o := byKey[e.Record.Key]
			if o == nil {
				o = &object{Name: e.Record.Key}
				if res != nil {
					o.Name = inspect.ObjectName(res.Group, res.Names.Plural, "", res.NamespaceOf(e.Record.Key), res.NameOf(e.Record.Key))
				}
				byKey[e.Record.Key] = o
				d.Objects = append(d.Objects, o)
			}
			if e.Type == store.Created && by.Verb == "create" && by.Subresource == "" {
				created[by.Request] = o.Name
			}
			verb := by.Verb
			if by.Patch == "apply" {
				verb = by.Patch
			}
			if by.Subresource != "" {
				verb += " " + by.Subresource
			}
			o.Revisions = append(o.Revisions, revision{
				Revision: e.Record.Revision, At: d.since(by.Time), Event: string(events[e.Type]), Client: inspect.ClientName(by.User, by.UserAgent),
				Verb: verb, Request: by.Request, Changes: changed(res, e),
			})
		}
	}
	for i := range d.Requests {
		if name, ok := created[d.Requests[i].Number]; ok && d.Requests[i].Verb == "create" {
			d.Requests[i].Object = name
		}
	}
	// An object without writes gets a lane if there is an Event about it.
	lanes := map[string]bool{}
	for _, o := range d.Objects {
		lanes[o.Name] = true
	}
	slices.SortStableFunc(d.Objects, func(a, b *object) int {
		return cmp.Compare(b.Revisions[len(b.Revisions)-1].Revision, a.Revisions[len(a.Revisions)-1].Revision)
	})
	for _, found := range d.Events {
		if !lanes[found.Object] {
			lanes[found.Object] = true
			d.Objects = append(d.Objects, &object{Name: found.Object, Revisions: []revision{}})
		}
	}
	if first := c.Store.Oldest(); from > first {
		d.Left = int(from - first)
	}
}

// changed lists the changes of an event.
func changed(res *resource.Resource, e *store.Event) (lines []string) {
	if res == nil || e.Type != store.Updated {
		return nil
	}
	before, err := view.Text(res.Storage, *e.Previous)
	if err != nil {
		return nil
	}
	after, err := view.Text(res.Storage, e.Record)
	if err != nil {
		return nil
	}
	for _, change := range history.DiffText(before, after) {
		lines = append(lines, change.String())
	}
	return lines
}

// FileName returns a file name for the page of a test, without characters that file systems reject.
func FileName(program, test string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '_'
		}
		return r
	}, program+"."+test)
	if len(name) > 150 { // bytes; file systems allow 255
		name = strings.ToValidUTF8(name[:150], "")
	}
	return name
}
