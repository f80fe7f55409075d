(** The rule broadcast where switches copy: what a rank h alone has it sends, one chunk in a
    round, each to however many ranks. Those rounds wait for h, and last as long as a hop of the
    chunk. Left out: switches that add; that the first hop leaves h. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Copying Adding Loose Coverage Sharing RoundTime RoundsInTime LooseInRounds.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Variable copies : nat -> bool.
Variable h : nat.

Definition sends_rule (bound : Z) : bool :=
  let ks := filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j))) in
  match ks with [] => false | _ => bound <=? arrival j h + sum (fun k => least_hop j (size j k)) ks end.

Hypothesis sane : positive j.
Variable sch : list sent.
Hypothesis good : right_copying_rounds j copies false sch.

Definition net : network := Network copies (fun _ => false) (fun _ => false) (fun _ => false) [].
Lemma steps : stepwise j net sch.
Proof. apply (copying_steps j net false). exact good. Qed.

(** In a round h sends one chunk. *)
Lemma one_chunk t t' : In t sch -> In t' sch -> src (tr (data t)) = h -> src (tr (data t')) = h -> begins (data t) = begins (data t') ->
  what (tr (data t)) = what (tr (data t')).
Proof.
  intros Ht Ht' Eh Eh' Eb. destruct (Nat.eq_dec (what (tr (data t))) (what (tr (data t')))) as [|Ne]; auto. exfalso.
  destruct good as [W [_ [P _]]]. destruct (W t Ht) as [[_ [Rs [_ Ns]]] [Hl _]]. destruct (W t' Ht') as [[_ [_ [_ Ns']]] [Hl' _]].
  destruct (leads_ends j _ _ _ Hl Ns) as [[i [Hi Ei]] _]. destruct (leads_ends j _ _ _ Hl' Ns') as [[i' [Hi' Ei']] _].
  rewrite Eh in *. rewrite Eh' in *. specialize (P _ _ (proj1 (in_rank_ports j h Rs)) (begins (data t))). unfold busy_links in P.
  set (ls := links_of j (fun l => (Cut.src l =? h)%nat)) in *.
  assert (Port : forall s k, In s sch -> In k (route s) -> begins (data s) = begins (data t) -> leads j h (route s) (dst (tr (data s))) -> Cut.src (at_link j k) = h ->
     In k (nodup Nat.eq_dec (map fst (filter (uses_at ls (begins (data t))) (round_uses sch))))).
  { intros s k Hs Hk Es Ls Ek. apply nodup_In. apply in_map_iff. exists (k, Span (begins (data s)) 1). split; [reflexivity|]. apply filter_In. split.
    - apply in_flat_map. exists s. split; [exact Hs|apply in_round_uses, Hk].
    - unfold uses_at. cbn [fst snd first long]. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. split; [|lia]. split; [|lia].
      apply existsb_exists. exists k. split; [|apply Nat.eqb_refl]. apply in_some_links; [apply (leads_in j _ _ _ Ls), Hk|]. apply Nat.eqb_eq, Ek. }
  pose proof (Port t i Ht Hi eq_refl Hl Ei) as I. pose proof (Port t' i' Ht' Hi' (eq_sym Eb) Hl' Ei') as I'.
  assert (i = i').
  { clear - P I I'. destruct (nodup _ _) as [|x [|y l]]; [destruct I| |cbn [length] in P; lia]. destruct I as [<-|[]], I' as [<-|[]]. reflexivity. }
  subst i'. apply Ne, (step_links j net sch steps t t' i); auto. intros ->. auto.
Qed.

(** Rounds in which h sends, one after the other. *)
Lemma rounds_of_sends (R : list nat) : (forall r, In r R -> exists t, In t (sent_in sch r) /\ src (tr (data t)) = h) -> (h < nodes j)%nat ->
  forall n, (arrival j h + sum (fun r => if existsb (Nat.eqb r) R then round_lasts j sch r else 0) (seq 0 n) <= rounds_end j sch n) \/
    ((forall r, (r < n)%nat -> ~ In r R) /\ sum (fun r => if existsb (Nat.eqb r) R then round_lasts j sch r else 0) (seq 0 n) = 0).
Proof.
  intros HR Hh. induction n as [|n IH]; [right; split; [intros; lia|reflexivity]|]. rewrite seq_S, sum_app. cbn [sum fold_right Nat.add].
  destruct (existsb (Nat.eqb n) R) eqn:E.
  - left. apply existsb_exists in E. destruct E as [r [Hr E]]. apply Nat.eqb_eq in E. subst r. destruct (HR n Hr) as [t [Ht Es]].
    assert (A : arrival j h <= round_waits j sch n).
    { eapply Z.le_trans; [|apply (greatest_ge (fun t => greatest (fun v => if is_rank j v then arrival j v else 0) (visited j (src (tr (data t))) (route t))) (sent_in sch n) t Ht)].
      cbn beta. eapply Z.le_trans; [|apply (greatest_ge (fun v => if is_rank j v then arrival j v else 0) _ h)].
      - cbn beta. unfold is_rank. rewrite (proj2 (Nat.ltb_lt _ _) Hh). lia.
      - left. exact Es. }
    cbn [rounds_end]. destruct (sent_in sch n); [destruct Ht|]. destruct IH as [IH|[_ IH]]; unfold sum in *; lia.
  - destruct IH as [IH|[IH1 IH2]].
    + left. pose proof (rounds_end_S j sch n). unfold sum in *. lia.
    + right. split; [|unfold sum in *; lia]. intros r Hr Hin. destruct (Nat.eq_dec r n) as [->|]; [|apply (IH1 r); auto; lia].
      enough (existsb (Nat.eqb n) R = true) by congruence. apply existsb_exists. exists n. split; auto. apply Nat.eqb_refl.
Qed.

Theorem sends_sound bound : sends_rule bound = true -> bound <= round_makespan j sch.
Proof.
  unfold sends_rule. set (ks := filter (crosses j (Nat.eqb h)) (seq 0 (length (sizes j)))).
  destruct ks as [|k0 kr] eqn:Ek; [discriminate|]. intros Rb. rewrite Z.leb_le in Rb. rewrite <- Ek in Rb.
  assert (N : NoDup ks) by apply NoDup_filter, seq_NoDup.
  destruct (each_has_one (fun k t => In t sch /\ what (tr (data t)) = k /\ src (tr (data t)) = h) ks) as [ps [E Q]].
  { intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
    destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk. apply andb_true_iff in Hk. destruct Hk as [Hk Hc'].
    apply andb_true_iff in Hk. destruct Hk as [Ek' Hv]. apply Nat.eqb_eq in Ek'. subst k'.
    apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
    apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
    destruct (must_leave j (Nat.eqb h) (map data sch) c v k (makespan sch)) as [t [Ht [Et [A B]]]].
    - apply (executed_bring j sch (step_data j net sch steps)) with (w := w); auto. intros t Ht.
      destruct (step_transfers j net sch steps t Ht) as [_ [_ [_ [X Y]]]]. lia.
    - exact Hv.
    - intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
      cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
    - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. exists s. apply Nat.eqb_eq in A. auto. }
  set (round_of_pair := fun p : nat * sent => RoundsInTime.rnd (snd p)).
  set (R := map round_of_pair ps).
  assert (Begin : forall t, In t sch -> begins (data t) = Z.of_nat (RoundsInTime.rnd t)) by (intros t Ht; apply (round_of j net sch steps t Ht)).
  assert (NR : NoDup R).
  { assert (NP : NoDup (map fst ps)) by (rewrite E; exact N). unfold R. clear - Q NP Begin good. revert NP Q. induction ps as [|p l IH]; intros NP Q; [constructor|].
    cbn [map] in NP |- *. inversion NP as [|? ? Hp Hl]; subst. constructor; [|apply IH; auto; intros q Hq; apply Q; right; auto].
    intros Hin. apply in_map_iff in Hin. destruct Hin as [q [Eq Hq]]. apply Hp. apply in_map_iff. exists q. split; [|exact Hq].
    destruct (Q p (or_introl eq_refl)) as [A [B C]]. destruct (Q q (or_intror Hq)) as [A' [B' C']]. rewrite <- B, <- B'.
    apply one_chunk; auto. unfold round_of_pair in Eq. rewrite !Begin by assumption. congruence. }
  assert (Hh : (h < nodes j)%nat).
  { destruct ps as [|p l]; [rewrite Ek in E; discriminate|]. destruct (Q p (or_introl eq_refl)) as [A [_ C]]. rewrite <- C.
    destruct (step_transfers j net sch steps _ A) as [[_ [X _]] _]. exact X. }
  assert (HR : forall r, In r R -> exists t, In t (sent_in sch r) /\ src (tr (data t)) = h).
  { intros r Hr. apply in_map_iff in Hr. destruct Hr as [p [<- Hp]]. destruct (Q p Hp) as [A [_ C]]. exists (snd p). split; [|exact C].
    apply (at_its_round j net sch steps), A. }
  assert (IR : incl R (seq 0 (how_many sch))).
  { intros r Hr. apply in_map_iff in Hr. destruct Hr as [p [<- Hp]]. destruct (Q p Hp) as [A _]. apply in_seq. unfold how_many, round_of_pair.
    pose proof (ends_makespan sch _ A). destruct (round_of j net sch steps _ A) as [_ Ee]. lia. }
  assert (Long : sum (fun k => least_hop j (size j k)) ks <= sum (round_lasts j sch) R).
  { rewrite <- E. unfold R. rewrite !sum_map. apply sum_le. intros p Hp. destruct (Q p Hp) as [A [B _]]. rewrite <- B.
    eapply Z.le_trans; [apply (hop_lasts_of j sch sane (proj1 good) (snd p) (size j (what (tr (data (snd p)))))); [exact A|split; [apply sane_size, sane|lia]]|].
    apply (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t))). apply (at_its_round j net sch steps), A. }
  assert (Sums : sum (round_lasts j sch) R <= sum (fun r => if existsb (Nat.eqb r) R then round_lasts j sch r else 0) (seq 0 (how_many sch))).
  { rewrite <- sum_filter. apply sum_incl; auto.
    - intros r Hr. apply filter_In. split; [apply IR, Hr|]. apply existsb_exists. exists r. split; auto. apply Nat.eqb_refl.
    - intros r. apply greatest_0. }
  destruct (rounds_of_sends R HR Hh (how_many sch)) as [L|[L _]].
  - unfold round_makespan. lia.
  - exfalso. destruct ps as [|p l]; [rewrite Ek in E; discriminate|]. assert (I : In (round_of_pair p) R) by (left; reflexivity).
    apply (L (round_of_pair p)); [|exact I]. apply IR, in_seq in I. lia.
Qed.
End Job.
