// Command builtin writes what a real kube-apiserver of the newest version serves, the columns of its Tables, and the objects that it
// begins with. The tests of internal/builtin compare the kinds of fakecluster with these files. From the folder conformance:
//
//	go run ./builtin # writes ../internal/builtin/testdata
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fakecluster/fakecluster/conformance/real/programs"
)

const (
	into = "../internal/builtin/testdata"

	// quiet is how long nothing may have changed before the files are written: a server makes its first objects in the background.
	quiet = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "builtin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	crlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	folder, err := programs.Folder(ctx, "real/modules", programs.APIServer, programs.Etcd)
	if err != nil {
		return err
	}
	usual, err := record(ctx, folder, "", func(s *server) (map[string][]byte, error) {
		core, err := s.discovery(ctx, "/api")
		if err != nil {
			return nil, err
		}
		groups, err := s.discovery(ctx, "/apis")
		if err != nil {
			return nil, err
		}
		kinds, err := listable(core, groups)
		if err != nil {
			return nil, err
		}
		columns, objects, err := s.tables(ctx, kinds)
		return map[string][]byte{
			"discovery-api.json": core, "discovery-apis.json": groups, "table-columns.txt": columns, "initial-objects.txt": objects,
		}, err
	})
	if err != nil {
		return err
	}
	everything, err := record(ctx, folder, "api/all=true", func(s *server) (map[string][]byte, error) {
		groups, err := s.discovery(ctx, "/apis")
		return map[string][]byte{"discovery-apis-all.json": groups}, err
	})
	if err != nil {
		return err
	}
	maps.Copy(usual, everything)
	for name, text := range usual {
		if err := os.WriteFile(filepath.Join(into, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// server is a real server.
type server struct {
	base   *url.URL
	client *http.Client
}

// record starts a server with a --runtime-config, unless it is empty, and returns what read reads when it does not change any more.
func record(ctx context.Context, folder, config string, read func(*server) (map[string][]byte, error)) (files map[string][]byte, err error) {
	environment := &envtest.Environment{BinaryAssetsDirectory: folder, ControlPlaneStartTimeout: 5 * time.Minute}
	if config != "" {
		environment.ControlPlane.GetAPIServer().Configure().Set("runtime-config", config)
	}
	cfg, err := environment.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{base, client}
	for {
		before := files
		if files, err = read(s); err != nil {
			return nil, err
		}
		if maps.EqualFunc(before, files, bytes.Equal) {
			return files, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(quiet):
		}
	}
}

// get returns the answer to a GET.
func (s *server) get(ctx context.Context, path, accept string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, text)
	}
	return text, err
}

// discovery returns an aggregated document, with sorted fields.
func (s *server) discovery(ctx context.Context, path string) ([]byte, error) {
	text, err := s.get(ctx, path, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if err != nil {
		return nil, err
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	text, err = json.MarshalIndent(document, "", " ")
	return append(text, '\n'), err
}

// listable returns the resources of documents that have a list.
func listable(documents ...[]byte) (resources []schema.GroupVersionResource, err error) {
	for _, text := range documents {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for _, r := range version.Resources {
					if slices.Contains(r.Verbs, "list") {
						resources = append(resources, schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: r.Resource})
					}
				}
			}
		}
	}
	return resources, nil
}

// tables lists resources as Tables and returns two texts, each with sorted lines: the columns of each resource, and its objects.
func (s *server) tables(ctx context.Context, resources []schema.GroupVersionResource) (columns, objects []byte, err error) {
	var columnLines, objectLines []string
	for _, r := range resources {
		path, version := "/apis/"+r.GroupVersion().String()+"/", r.GroupVersion().String()
		if r.Group == "" {
			path, version = "/api/"+r.Version+"/", "core/"+r.Version
		}
		text, err := s.get(ctx, path+r.Resource, "application/json;g=meta.k8s.io;v=v1;as=Table")
		if err != nil {
			return nil, nil, err
		}
		var table metav1.Table
		if err := json.Unmarshal(text, &table); err != nil {
			return nil, nil, err
		}
		columnLines = append(columnLines, fmt.Sprintf("%s %s: %s", version, r.Resource, formatColumns(table.ColumnDefinitions)))
		if computed := r.Resource == "componentstatuses"; computed || r.Resource == "leases" { // a Lease has the name of the machine
			continue
		}
		for _, row := range table.Rows {
			var object metav1.PartialObjectMetadata
			if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
				return nil, nil, err
			}
			namespace := object.Namespace
			if namespace == "" {
				namespace = "-"
			}
			objectLines = append(objectLines, fmt.Sprintf("%s %s %s", r.GroupResource(), namespace, object.Name))
		}
	}
	return lines(columnLines), lines(objectLines), nil
}

// formatColumns returns Name:type[:format][:pPRIORITY] for each column.
func formatColumns(definitions []metav1.TableColumnDefinition) string {
	var columns []string
	for _, c := range definitions {
		text := c.Name + ":" + c.Type
		if c.Format != "" {
			text += ":" + c.Format
		}
		if c.Priority != 0 {
			text += fmt.Sprintf(":p%d", c.Priority)
		}
		columns = append(columns, text)
	}
	return strings.Join(columns, " | ")
}

// lines returns a text of sorted lines, without those that repeat.
func lines(texts []string) []byte {
	slices.Sort(texts)
	return []byte(strings.Join(slices.Compact(texts), "\n") + "\n")
}
