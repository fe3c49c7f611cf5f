package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// deleteUnreadable deletes the objects of a definition that the server cannot read, because a version was removed or the
// conversion webhook is gone. They would block the deletion of the definition, and of every namespace that is deleted
// later.
func (c *remoteCluster) deleteUnreadable(ctx context.Context, definition string) {
	code, text, err := c.request(ctx, http.MethodGet, definition, nil)
	var it struct {
		Spec struct {
			Group      string
			Names      struct{ Plural string }
			Conversion struct{ Strategy string }
			Versions   []struct {
				Name   string
				Served bool
			}
		}
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &it) != nil {
		return
	}
	if it.Spec.Conversion.Strategy == "Webhook" {
		none := map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "None", "webhook": nil}}}
		if _, _, err := c.request(ctx, http.MethodPatch, definition, none); err != nil {
			return
		}
	}
	for _, version := range it.Spec.Versions {
		if !version.Served {
			continue
		}
		kind := "/apis/" + it.Spec.Group + "/" + version.Name
		waitUntil(ctx, func() bool {
			// The server answers a list with a limit without its cache, which is not ready.
			code, text, err := c.request(ctx, http.MethodGet, kind+"/"+it.Spec.Names.Plural+"?limit=500", nil)
			if err != nil || code != http.StatusInternalServerError {
				return true
			}
			for _, object := range unreadable(text, it.Spec.Group, it.Spec.Names.Plural) {
				place := kind + "/" + it.Spec.Names.Plural + "/" + object[1]
				if object[0] != "" {
					place = kind + "/namespaces/" + object[0] + "/" + it.Spec.Names.Plural + "/" + object[1]
				}
				c.request(ctx, http.MethodDelete, place, map[string]any{"ignoreStoreReadErrorWithClusterBreakingPotential": true})
			}
			return false
		})
	}
}

// unreadable returns the namespaces and names of the objects that the error of a list names.
func unreadable(text []byte, group, plural string) (objects [][2]string) {
	var status struct {
		Details struct{ Causes []struct{ Field string } }
	}
	if json.Unmarshal(text, &status) != nil {
		return nil
	}
	for _, cause := range status.Details.Causes {
		key, ok := strings.CutPrefix(cause.Field, "/registry/"+group+"/"+plural+"/")
		if !ok {
			continue
		}
		if namespace, name, namespaced := strings.Cut(key, "/"); namespaced {
			objects = append(objects, [2]string{namespace, name})
		} else {
			objects = append(objects, [2]string{"", key})
		}
	}
	return objects
}
