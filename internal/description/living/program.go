package living

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Program is a program of the machine that runs the containers of an image, in real time.
type Program struct {
	// Image is an image as in [Behavior]: with a tag, without one, or a pattern of path.Match.
	Image string `json:"image" doc:"an image, as of a behavior"`
	// Path is the path of the program. A name without a slash is looked up in the PATH of the machine.
	Path string `json:"path" doc:"the path of the program, or a name that is looked up in the PATH of the machine"`
	// Args precede the arguments of the container.
	Args []string `json:"args,omitempty" doc:"arguments before those of the container"`
}

// IsRelative reports whether the path is relative to a folder.
func (p *Program) IsRelative() bool {
	return strings.ContainsRune(p.Path, '/') && !filepath.IsAbs(p.Path)
}

// Resolve makes relative paths of programs absolute; they begin at the folder of a file.
func (c *Config) Resolve(file string) error {
	for i := range c.Programs {
		p := &c.Programs[i]
		if !p.IsRelative() {
			continue
		}
		path, err := filepath.Abs(filepath.Join(filepath.Dir(file), p.Path))
		if err != nil {
			return err
		}
		p.Path = path
	}
	return nil
}

func (s *strict) readPrograms(n *yaml.Node, into *[]Program) {
	if n.Kind != yaml.SequenceNode {
		s.mistake(n, "this must be a list of programs")
		return
	}
	s.read(n, into)
	for i, p := range *into {
		if p.Image == "" || p.Path == "" {
			s.mistake(n.Content[i], "a program needs an image and a path, such as {image: ghcr.io/acme/operator, path: ./bin/manager}")
		}
	}
}
