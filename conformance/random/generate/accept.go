package generate

import "strings"

// What clients ask for besides JSON.
const (
	acceptTable       = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	acceptPartial     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	acceptPartialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// withDryRun returns the path as that of a dry run.
func withDryRun(path string) string {
	if strings.Contains(path, "dryRun=") {
		return strings.Replace(strings.Replace(path, "dryRun=Nope", "dryRun=All", 1), "dryRun=&", "dryRun=All&", 1)
	}
	if strings.Contains(path, "?") {
		return path + "&dryRun=All"
	}
	return path + "?dryRun=All"
}
