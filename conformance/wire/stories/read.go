package stories

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/conformance/wire/exchange"
)

//go:embed *.txt
var files embed.FS

// All returns the requests of all stories. Those that others need come first.
func All() ([]exchange.Request, error) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	var needed, others []exchange.Request
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		requests, err := read(name, string(text))
		if err != nil {
			return nil, err
		}
		for _, r := range requests {
			if r.Needed {
				needed = append(needed, r)
			} else {
				others = append(others, r)
			}
		}
	}
	return append(needed, others...), nil
}

// line is a line of a file and the indented ones below it.
type line struct {
	number int
	text   string
	below  []string
}

// story is what stands below a line with ==.
type story struct {
	name              string
	needed, unordered bool
	with              []map[string]string
	lines             []line
}

// read returns the requests of a file.
func read(file, text string) ([]exchange.Request, error) {
	var made []exchange.Request
	seen := map[string]int{}
	stories, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	for _, s := range stories {
		for _, values := range s.with {
			requests, err := s.requests(values)
			if err != nil {
				return nil, fmt.Errorf("%s:%w", file, err)
			}
			for i := range requests {
				r := &requests[i]
				seen[r.String()]++
				if n := seen[r.String()]; n > 1 {
					r.Name += fmt.Sprintf(" (%d)", n)
				}
			}
			made = append(made, requests...)
		}
	}
	return made, nil
}

// split returns the stories of a file. Each has at least one set of values.
func split(text string) ([]*story, error) {
	var found []*story
	var current *story
	var above *line
	number := 0
	for raw := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(raw)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			continue
		case strings.HasPrefix(raw, "== "):
			current = &story{name: strings.TrimPrefix(trimmed, "== ")}
			found, above = append(found, current), nil
		case current == nil:
			return nil, fmt.Errorf("%d: a file begins with a story, ==", number)
		case strings.HasPrefix(raw, " "):
			if above == nil {
				return nil, fmt.Errorf("%d: nothing is above what is indented", number)
			}
			above.below = append(above.below, strings.TrimRight(raw, "\n"))
		case trimmed == "needed":
			current.needed = true
		case trimmed == "unordered":
			current.unordered = true
		default:
			current.lines = append(current.lines, line{number: number, text: trimmed})
			above = &current.lines[len(current.lines)-1]
		}
	}
	for _, s := range found {
		s.lines = slices.DeleteFunc(s.lines, func(l line) bool {
			if l.text != "with" {
				return false
			}
			values := map[string]string{}
			for _, b := range l.below {
				name, value, _ := strings.Cut(strings.TrimSpace(b), " ")
				values[name] = strings.TrimSpace(value)
			}
			s.with = append(s.with, values)
			return true
		})
		if s.with == nil {
			s.with = []map[string]string{{}}
		}
	}
	return found, nil
}

var variable = regexp.MustCompile(`\$[a-z]+`)

// requests returns those of the story with some values.
func (s *story) requests(values map[string]string) ([]exchange.Request, error) {
	variables := map[string]string{}
	var expand func(text string) string
	expand = func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(name string) string {
			if value, ok := variables[name[1:]]; ok {
				return expand(value)
			}
			if value, ok := values[name[1:]]; ok {
				return expand(value)
			}
			return name
		})
	}
	group := expand(s.name)
	variables["id"] = slug(group)
	variables["ns"] = "wire-" + slug(group)
	base := exchange.Request{Group: group, Needed: s.needed, Whole: true, Unordered: s.unordered}
	first := base
	first.Name, first.Method, first.Path = "namespace", "POST", "/api/v1/namespaces"
	first.Body = fmt.Sprintf(`{"metadata":{"name":%q}}`, variables["ns"])
	requests := []exchange.Request{first}
	for _, l := range s.lines {
		if rest, ok := strings.CutPrefix(l.text, "let "); ok {
			name, value, _ := strings.Cut(rest, "=")
			variables[strings.TrimSpace(name)] = strings.TrimSpace(value)
			continue
		}
		r, err := request(base, l, expand)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", l.number, err)
		}
		requests = append(requests, r)
	}
	return requests, nil
}

// slug returns the text as a word that may be a part of a name.
func slug(text string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(text), "-"), "-")
}

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// patches and forms are the words for types of bodies and answers.
var (
	patches = map[string]string{
		"json":       "application/json-patch+json",
		"merge":      "application/merge-patch+json",
		"strategic":  "application/strategic-merge-patch+json",
		"apply":      "application/apply-patch+yaml",
		"apply-cbor": "application/apply-patch+cbor",
		"cbor":       "application/cbor",
		"yaml":       "application/yaml",
	}
	forms = map[string]string{
		"table":    "application/json;as=Table;v=v1;g=meta.k8s.io",
		"partial":  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"partials": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"yaml":     "application/yaml",
		"cbor":     "application/cbor",
		"protobuf": "application/vnd.kubernetes.protobuf",
	}
)

// Of a long line the name of a request has so much from the beginning and from the end.
const beginning, end = 110, 80

// request returns the request that a line describes.
func request(base exchange.Request, l line, expand func(string) string) (exchange.Request, error) {
	r := base
	r.Header = map[string]string{}
	rest := l.text
	if first, after, ok := strings.Cut(rest, ": "); ok && !slices.Contains(methods, strings.Fields(first)[0]) {
		r.Name, rest = first, after
	} else {
		r.Name = rest
		if runes := []rune(rest); len(runes) > beginning+end {
			r.Name = string(runes[:beginning]) + "…" + string(runes[len(runes)-end:])
		}
	}
	word := func() (w string) {
		w, rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimSpace(rest)
		return w
	}
	r.Method = word()
	if !slices.Contains(methods, r.Method) {
		return r, fmt.Errorf("%q is not a method", r.Method)
	}
	r.Path = expand(word())
	var body string
	for rest != "" && body == "" {
		if after, ok := strings.CutPrefix(rest, "body="); ok {
			body = after
			break
		}
		if rest[0] == '{' || rest[0] == '[' || rest[0] == '$' {
			body = rest
			break
		}
		if err := setWord(&r, word(), expand); err != nil {
			return r, err
		}
	}
	return r, setBody(&r, expand(body), expand(strings.Join(l.below, "\n")))
}

// setWord sets what a word of the language says about a request.
func setWord(r *exchange.Request, word string, expand func(string) string) (err error) {
	key, value, valued := strings.Cut(word, "=")
	value = expand(value)
	switch {
	case !valued && patches[word] != "":
		r.Header["Content-Type"] = patches[word]
	case word == "anonymous":
		r.Anonymous = true
	case word == "unordered":
		r.Unordered = true
	case key == "as" && forms[value] != "":
		r.Header["Accept"] = forms[value]
	case key == "from":
		r.From = value
	case key == "user":
		r.Header["Impersonate-User"] = value
	case key == "groups":
		r.Header["Impersonate-Group"] = value
	case key == "until":
		_, err = fmt.Sscan(value, &r.Until)
	case key == "wait":
		r.Wait, err = time.ParseDuration(value)
	case valued && key[0] >= 'A' && key[0] <= 'Z':
		r.Header[key] = strings.ReplaceAll(value, "_", " ")
	default:
		return fmt.Errorf("%q is not a word", word)
	}
	return err
}

// setBody sets the body of a request: that of its line, or else the YAML below it, in the encoding of the Content-Type.
func setBody(r *exchange.Request, body, below string) error {
	r.Body = body
	contentType := r.Header["Content-Type"]
	if below != "" {
		r.Body = below
		if contentType != patches["yaml"] {
			converted, err := yaml.YAMLToJSON([]byte(below))
			if err != nil {
				return err
			}
			r.Body = string(converted)
		}
	}
	if r.Body == "" || contentType != patches["cbor"] && contentType != patches["apply-cbor"] {
		return nil
	}
	var value any
	if err := utiljson.Unmarshal([]byte(r.Body), &value); err != nil {
		return err
	}
	encoded, err := direct.Marshal(value)
	if err != nil {
		return err
	}
	r.Body = string(encoded)
	return nil
}
