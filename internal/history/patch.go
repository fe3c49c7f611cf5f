package history

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// patchWords are the words for the types of patches.
var patchWords = map[types.PatchType]string{
	types.ApplyYAMLPatchType: "apply", types.ApplyCBORPatchType: "apply", types.JSONPatchType: "json",
	types.MergePatchType: "merge", types.StrategicMergePatchType: "strategic",
}

// PatchWord returns the word for a media type of patches, such as merge.
func PatchWord(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return patchWords[types.PatchType(strings.TrimSpace(media))]
}
