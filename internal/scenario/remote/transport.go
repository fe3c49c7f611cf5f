package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/fakecluster/fakecluster/internal/scenario/player"
)

// transport sends the requests of a scenario to the cluster.
type transport struct {
	cluster *remoteCluster
	next    http.RoundTripper
}

func (v *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	c := v.cluster
	request = request.Clone(request.Context())
	var data []byte
	if request.Body != nil {
		var err error
		data, err = io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body.Close()
		data = []byte(c.webhooks.toCluster(c.prefixGroups(string(c.bodyToCluster(data)))))
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		request.GetBody = nil
	}
	request.URL.Path, request.URL.RawPath = c.path(request.URL.Path), ""
	query := request.URL.Query()
	if selector := query.Get("fieldSelector"); selector != "" {
		query.Set("fieldSelector", metadataNamespace.ReplaceAllStringFunc(selector, func(found string) string {
			field, name, _ := strings.Cut(found, "=")
			return field + "=" + c.namespace(name)
		}))
		request.URL.RawQuery = query.Encode()
	}
	request.URL.RawQuery = c.prefixGroups(request.URL.RawQuery)
	if err := c.checkOwn(request, data); err != nil {
		return nil, err
	}
	if err := v.waitForPolicies(request); err != nil {
		return nil, err
	}
	response, err := v.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusCreated {
		if err := v.noteCreated(request, response); err != nil {
			return nil, err
		}
	}
	if policies := policyPath.FindStringSubmatch(request.URL.Path); policies != nil && isWrite(request) && response.StatusCode < http.StatusBadRequest {
		v.cluster.notePolicyWrite(policies[1])
	}
	response.Body = &scenarioReader{c: c, closer: response.Body, lines: bufio.NewReader(response.Body)}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	for _, values := range response.Header {
		for i, value := range values {
			values[i] = string(c.toScenario([]byte(value)))
		}
	}
	return response, nil
}

// waitForPolicies waits until the policies that have been written are in force, if they may apply to a request.
func (v *transport) waitForPolicies(request *http.Request) error {
	path := request.URL.Path
	if policyPath.MatchString(path) || request.Method == http.MethodGet && !connection.MatchString(path) {
		return nil
	}
	return v.cluster.waitForPolicies(request.Context())
}

// connection matches the paths of connections, which go through admission with any method.
var connection = regexp.MustCompile(`/(exec|attach|portforward|proxy)(/|$)`)

// isWrite reports whether a request may change something.
func isWrite(request *http.Request) bool {
	return request.Method != http.MethodGet && request.URL.Query().Get("dryRun") == ""
}

// metadataNamespace finds a namespace in a field selector.
var metadataNamespace = regexp.MustCompile(`metadata\.namespace==?[^,=!]+`)

// noteCreated stores the path of a created object, and waits until a definition is established and a quota is counted.
func (v *transport) noteCreated(request *http.Request, response *http.Response) error {
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(data))
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || request.URL.Query().Get("dryRun") != "" {
		return nil
	}
	name, _ := player.MetadataOf(object)["name"].(string)
	path := request.URL.Path
	if uid := player.MetadataOf(object)["uid"]; name == "" || uid == nil || request.Method == http.MethodPost && !isCollection(path) {
		return nil // a review, or an action such as an eviction or a token request
	}
	if request.Method == http.MethodPost {
		path += "/" + url.PathEscape(name)
	}
	v.cluster.mu.Lock()
	v.cluster.created = append(v.cluster.created, path)
	v.cluster.mu.Unlock()
	if object["kind"] == "ResourceQuota" {
		v.cluster.waitForQuotaStatus(request.Context(), path)
	}
	if object["kind"] != "CustomResourceDefinition" {
		return nil
	}
	if err := v.waitEstablished(request, name); err != nil {
		return err
	}
	v.cluster.waitServed(request.Context(), object)
	return nil
}

// isCollection reports whether a path is that of a collection, in a namespace or not, and not of a subresource.
func isCollection(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	segments = segments[min(map[string]int{"api": 2, "apis": 3}[segments[0]], len(segments)):]
	return len(segments) == 1 || len(segments) == 3 && segments[0] == "namespaces"
}

// waitEstablished returns when a definition is established, or its names are not accepted.
func (v *transport) waitEstablished(created *http.Request, name string) error {
	ctx, cancel := context.WithTimeout(created.Context(), waitLimit)
	defer cancel()
	watch := created.Clone(ctx)
	watch.Method, watch.Body, watch.ContentLength = http.MethodGet, nil, 0
	watch.Header.Set("Accept", "application/json")
	watch.URL.Path = strings.TrimSuffix(watch.URL.Path, "/"+name)
	watch.URL.RawQuery = url.Values{"watch": {"true"}, "fieldSelector": {"metadata.name=" + name}}.Encode()
	response, err := v.next.RoundTrip(watch)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for stream := json.NewDecoder(response.Body); ; {
		var event struct {
			Object struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := stream.Decode(&event); err != nil {
			if ctx.Err() != nil && created.Context().Err() == nil {
				return nil // the scenario gets the error
			}
			return fmt.Errorf("waiting until %s is established: %w", v.cluster.toScenario([]byte(name)), err)
		}
		for _, condition := range event.Object.Status.Conditions {
			if condition.Type == "Established" && condition.Status == "True" || condition.Type == "NamesAccepted" && condition.Status == "False" {
				return nil
			}
		}
	}
}

// scenarioReader reads an answer line by line and removes the prefixes. Each event of a watch is a line.
type scenarioReader struct {
	c      *remoteCluster
	closer io.Closer
	lines  *bufio.Reader
	ready  []byte
	err    error
}

func (r *scenarioReader) Read(into []byte) (int, error) {
	for len(r.ready) == 0 && r.err == nil {
		var line []byte
		line, r.err = r.lines.ReadBytes('\n')
		r.ready = r.c.toScenario(line)
	}
	if len(r.ready) == 0 {
		return 0, r.err
	}
	n := copy(into, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

func (r *scenarioReader) Close() error { return r.closer.Close() }
