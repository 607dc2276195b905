# Completion of sayso in fish: put this into ~/.config/fish/completions/sayso.fish.
function __sayso_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete $words[2..-1] "$(commandline -ct)" 2>/dev/null)
    for line in $found
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c sayso -f -a '(__sayso_complete)'
