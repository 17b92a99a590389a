// Empty: its presence lets main.go declare functions whose bodies are linked in from another package.
