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

// PatchWord is the word for a patch of a media type.
func PatchWord(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return patchWords[types.PatchType(strings.TrimSpace(media))]
}
