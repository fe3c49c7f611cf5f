package play

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// describe writes the cluster as a text: what steps have noted, all objects, and all Events.
func (w *world) describe() (string, error) {
	d := &description{namespace: w.namespace}
	w.mu.Lock()
	for _, object := range w.seen {
		d.seen = append(d.seen, object.DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for _, key := range slices.Sorted(maps.Keys(w.now[name])) {
			object := w.now[name][key]
			switch {
			case name == "Event" && d.isAbout(object):
				d.events = append(d.events, object.DeepCopy())
			case name == "Event", name == "StorageClass", name == "PriorityClass":
			case object.GetNamespace() == w.namespace, object.GetNamespace() == "" && name != "Namespace", object.GetName() == w.namespace:
				d.objects = append(d.objects, object.DeepCopy())
			}
		}
	}
	w.mu.Unlock()
	text, err := d.write()
	if err != nil {
		return "", err
	}
	var notes strings.Builder
	for _, n := range w.notes {
		notes.WriteString("note: " + strings.ReplaceAll(n, w.namespace, "<namespace>") + "\n")
	}
	return notes.String() + text, nil
}

// description is what a text is made from.
type description struct {
	namespace       string
	seen            []*unstructured.Unstructured // all objects that have been there
	objects         []*unstructured.Unstructured
	events          []*unstructured.Unstructured
	uids            *strings.Replacer
	whole, numbered *strings.Replacer // of generated names
}

// isAbout reports whether an Event belongs to the history: it is in its namespace, or about an object without one. Not compared is
// what the node lifecycle controller says about Nodes that are new or gone: whether that is before or after the history
// depends on when its loop of 5 seconds comes round.
func (d *description) isAbout(event *unstructured.Unstructured) bool {
	if reason := event.Object["reason"]; reason == "RegisteredNode" || reason == "RemovingNode" {
		return false
	}
	return event.GetNamespace() == d.namespace || event.GetNamespace() == metav1.NamespaceDefault
}

// entry is a part of the text.
type entry struct{ title, text string }

func (d *description) write() (string, error) {
	d.nameUIDs()
	if err := d.nameGenerated(); err != nil {
		return "", err
	}
	var entries []entry
	for _, object := range d.objects {
		text, err := d.object(object, d.numbered)
		if err != nil {
			return "", err
		}
		entries = append(entries, entry{object.GetKind() + " " + d.numbered.Replace(object.GetName()), text})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.title, b.title), cmp.Compare(a.text, b.text)) })
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "== %s\n%s", masked(d.uids.Replace(e.title), strings.HasPrefix(e.title, "Node ")), e.text)
	}
	var lines []string
	for _, event := range d.events {
		if reason, _, _ := unstructured.NestedString(event.Object, "reason"); reason == "ProgramNotRun" {
			continue // it is for users of workloads; the nodes of the real cluster do not record it
		}
		line, err := d.event(event, d.numbered)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	b.WriteString("== Events\n" + strings.Join(once(lines), ""))
	return strings.ReplaceAll(b.String(), d.namespace, "<namespace>"), nil
}

// nameUIDs makes each uid that of an object.
func (d *description) nameUIDs() {
	var pairs []string
	for _, object := range d.seen {
		if uid := string(object.GetUID()); uid != "" && object.GetKind() != "Event" {
			pairs = append(pairs, uid, fmt.Sprintf("<uid of %s %s>", object.GetKind(), object.GetName()))
		}
	}
	d.uids = strings.NewReplacer(pairs...)
}

// nameGenerated numbers the objects whose names are generated. The order is that of their texts, of the Events about them, and of the
// lines in other objects that name them. So objects with the same number are alike in both clusters.
func (d *description) nameGenerated() error {
	groups := map[string][]*unstructured.Unstructured{}
	var toAll []string
	for _, object := range d.seen {
		if group := generated(object); group != "" {
			groups[group] = append(groups[group], object)
			toAll = append(toAll, object.GetName(), group+"*")
		}
	}
	d.whole = replacer(toAll)
	var texts, lines []string // with the names, to look for them
	for _, object := range d.objects {
		text, err := d.object(object, strings.NewReplacer())
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	for _, event := range d.events {
		line, err := d.event(event, strings.NewReplacer())
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	var numbers []string
	for group, members := range groups {
		keys := map[string]string{}
		for _, m := range members {
			name := m.GetName()
			var key []string
			for _, part := range append(slices.Clone(texts), lines...) {
				for line := range strings.Lines(part) {
					if strings.Contains(line, name) {
						key = append(key, line)
					}
				}
				if strings.Contains(part, "\nmetadata:\n") && strings.Contains(part, "  name: "+name+"\n") {
					key = append(key, part)
				}
			}
			slices.Sort(key)
			text := d.whole.Replace(strings.ReplaceAll(strings.Join(key, ""), name, "<self>"))
			keys[name] = text
		}
		slices.SortFunc(members, func(a, b *unstructured.Unstructured) int { return cmp.Compare(keys[a.GetName()], keys[b.GetName()]) })
		for i, m := range members {
			numbers = append(numbers, m.GetName(), fmt.Sprintf("%s#%d", group, i+1))
		}
	}
	d.numbered = replacer(numbers)
	return nil
}

// replacer replaces names. A name that another one begins with comes behind that.
func replacer(pairs []string) *strings.Replacer {
	type pair struct{ from, to string }
	var sorted []pair
	for i := 0; i < len(pairs); i += 2 {
		sorted = append(sorted, pair{pairs[i], pairs[i+1]})
	}
	slices.SortFunc(sorted, func(a, b pair) int { return cmp.Or(len(b.from)-len(a.from), cmp.Compare(a.from, b.from)) })
	pairs = pairs[:0:0]
	for _, p := range sorted {
		pairs = append(pairs, p.from, p.to)
	}
	return strings.NewReplacer(pairs...)
}

// generated returns what the name of an object begins with if the rest is generated: a random suffix, or the minute of a CronJob.
func generated(object *unstructured.Unstructured) string {
	if object.GetKind() == "Event" {
		return ""
	}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "CronJob" {
		return owner.Name + "-"
	}
	group := object.GetGenerateName()
	if group == "" || !generatedSuffix.MatchString(strings.TrimPrefix(object.GetName(), group)) {
		return "" // Pods of a StatefulSet have a generateName, too
	}
	return cronMinute.ReplaceAllString(group, "-<minute>")
}

// object writes an object.
func (d *description) object(object *unstructured.Unstructured, names *strings.Replacer) (string, error) {
	o := object.DeepCopy()
	strip(o)
	content, err := d.mask(o.Object, names, object.GetKind() == "Node" || isPinned(object))
	if err != nil {
		return "", err
	}
	sortLists(content)
	text, err := yaml.Marshal(content)
	return string(text), err
}

// mask replaces what differs between two clusters.
func (d *description) mask(content map[string]any, names *strings.Replacer, withNodes bool) (map[string]any, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	text := masked(names.Replace(d.uids.Replace(string(data))), withNodes)
	var result map[string]any
	err = json.Unmarshal([]byte(text), &result)
	return result, err
}

// event writes an Event in a line.
func (d *description) event(event *unstructured.Unstructured, names *strings.Replacer) (string, error) {
	content, err := d.mask(event.Object, names, d.isPinnedEvent(event))
	if err != nil {
		return "", err
	}
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(content, fields...)
		return s
	}
	count := "1"
	for _, fields := range [][]string{{"count"}, {"series", "count"}} {
		if n, found, _ := unstructured.NestedFieldNoCopy(content, fields...); found && n != nil {
			count = fmt.Sprint(n)
		}
	}
	line := fmt.Sprintf("%s %s: %s %s x%s", text("involvedObject", "kind"), text("involvedObject", "name"), text("type"), text("reason"), count)
	for _, more := range []string{text("involvedObject", "fieldPath"), text("action"), text("source", "component"), text("source", "host"), text("reportingComponent"), text("reportingInstance"), text("related", "name")} {
		line += " " + cmp.Or(more, "-")
	}
	return withoutRace(line + ": " + strings.ReplaceAll(text("message"), "\n", `\n`) + "\n"), nil
}

// isPinnedEvent reports whether an Event is about a Node, or a Pod whose Node is not a matter of chance.
func (d *description) isPinnedEvent(event *unstructured.Unstructured) bool {
	var e corev1.Event
	if err := convert(event, &e); err != nil {
		return false
	}
	if e.InvolvedObject.Kind == "Node" {
		return true
	}
	i := slices.IndexFunc(d.seen, func(o *unstructured.Unstructured) bool { return o.GetUID() == e.InvolvedObject.UID })
	return i >= 0 && isPinned(d.seen[i])
}
