(** The functions that are proved, in OCaml, with integers of any size: what
    proofs/checker puts a reader before. *)
From Coq Require Extraction ExtrOcamlBasic ExtrOcamlNatBigInt ExtrOcamlZBigInt.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Coverage Cover Free Partition Prices RoundTime RoundRules RoundHops FreeRounds RoundsInTime Dual Horizon Backwards Allreduce Order Adding Sharing Late RoundPorts.

Extraction Language OCaml.
Extraction "proved.ml" replay replay_rounds replay_copying replay_copying_rounds positiveb cut_rule ingress_rule volume_rule distance_rule
  coverage_rule free_cut_rule free_ingress_rule free_volume_rule free_distance_rule free_coverage_rule
  prices_rule free_prices_rule
  doubling_rule spread_rule combine_rule free_doubling_rule free_spread_rule free_combine_rule transfers_rule crossing_rule full_sizes entry_rule
  ported sold price_of_link needed dual_rule epochs_rule rounds_rule backwards_epochs_rule backwards_rounds_rule allreduce_rule replay_order
  replay_adding replay_adding_rounds loose_partition_rule free_loose_partition_rule late_rule free_late_rule sends_rule receives_rule free_sends_rule free_receives_rule
  makespan round_makespan.
