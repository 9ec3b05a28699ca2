module github.com/regentproject/regent

go 1.26
