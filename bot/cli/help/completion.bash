# Completion of sayso in bash: put `source <(sayso completion bash)` into ~/.bashrc.
_sayso() {
    local word about
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        case $word in
            :files) compopt -o default ;;
            :folders) compopt -o dirnames ;;
            *) COMPREPLY+=("$word") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _sayso sayso
