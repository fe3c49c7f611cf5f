package workloads

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fakecluster/fakecluster/workloads/internal/cri"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
)

// imageFiles has the arguments of one ImageFiles.
type imageFiles struct {
	image string
	files fs.FS
}

// ImageFiles gives an image files, such as an embed.FS, os.DirFS("testdata/site") or an fstest.MapFS. A
// volume of the type image contains them, read-only. A container of the image has a copy of them as its own
// files, whether it runs a function or follows a behavior. name is matched as for [Image]; the first
// ImageFiles that matches applies. Run reads all files, and follows symbolic links to files.
//
// A volume of an image without files is empty. Images of volumes are pulled as those of containers: a
// [Behavior] with the image delays the pull or makes it fail, and [OnlyKnownImages] makes it fail if no
// option names the image.
//
// Files that cannot be read, and two file systems for one name, are errors of Run. So is ImageFiles without [Nodes].
func ImageFiles(name string, files fs.FS) Option {
	return func(s *settings) { s.files = append(s.files, imageFiles{name, files}) }
}

// readFiles reads the files of images.
func readFiles(images []imageFiles) ([]cri.ImageFiles, error) {
	var errs []error
	var read []cri.ImageFiles
	seen := map[string]bool{}
	for _, i := range images {
		_, err := path.Match(i.image, "")
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("ImageFiles: image %q is not a pattern of path.Match: %w", i.image, err))
			continue
		case i.image == "":
			errs = append(errs, errors.New("ImageFiles: the name of an image is empty"))
			continue
		case i.files == nil:
			errs = append(errs, fmt.Errorf("ImageFiles: the files of image %q are nil", i.image))
			continue
		case seen[i.image]:
			errs = append(errs, fmt.Errorf("ImageFiles: image %q has files twice; leave one out", i.image))
		}
		seen[i.image] = true
		tree, err := files.TreeOf(i.files)
		if err != nil {
			errs = append(errs, fmt.Errorf("ImageFiles: the files of image %q: %w", i.image, err))
		}
		read = append(read, cri.ImageFiles{Image: i.image, Files: tree})
	}
	return read, errors.Join(errs...)
}
