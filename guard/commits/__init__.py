"""What a commit, a merge or a push takes from a repository: differences of trees as effects, judged like any command."""
